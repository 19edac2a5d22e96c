package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/sftp"

	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/search"
)

// The limits of a search for transferred bytes and matches.
const (
	searchBytes = 64 << 20
	searchHits  = 10_000
)

// Search finds lines or files with the backend's rg, like [workspace.Workspace.Search].
func (f *Files) Search(ctx context.Context, q search.Query) (*search.Found, error) {
	var root, start string
	err := f.at(ctx, "searching", cmpPath(q.Path), func(c *sftp.Client, p string) error {
		root, start = f.Folders()[0], p
		_, err := c.Stat(p)
		return err
	})
	if err != nil {
		return nil, err
	}
	args := []string{"rg", "--no-config", "--no-messages"}
	if q.Glob != "" {
		args = append(args, "--glob", q.Glob)
	}
	named := func(string, string) bool { return true }
	if q.Files {
		if named, err = ignore.NamePattern(q.Pattern); err != nil {
			return nil, err
		}
		args = append(args, "--files", "--null")
	} else {
		args = append(args, "--json", "--crlf", "--context="+strconv.Itoa(max(q.Context, 0)), "--regexp", q.Pattern) // after a "=", rg 13 drops another
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(start, strings.TrimSuffix(root, "/")), "/")
	out, err := f.ripgrep(ctx, append(args, "--", "./"+rel), root)
	if err != nil {
		return nil, err
	}
	if q.Files {
		return pageOfFiles(out, rel, named, q), nil
	}
	return pageOfLines(out, q)
}

func cmpPath(p string) string {
	if p == "" {
		return "."
	}
	return p
}

// ripgrep runs rg there.
func (f *Files) ripgrep(ctx context.Context, args []string, dir string) ([]byte, error) {
	out, errs := &proc.Bounded{Limit: searchBytes}, &outputTail{}
	exit, err := proc.Run(ctx, proc.Cmd{
		Args: f.ssh.Args(Supervised(args, false), dir, false), Env: environ(f.ssh.Folders), Dir: "/", Stdin: newSilence(), Stdout: out, Stderr: errs, Trusted: true,
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("searching on %s: %w", f.ssh.SSH.Host, err)
	case exit.Code == 127:
		return nil, fmt.Errorf("a search needs ripgrep on %s (on Debian: apt install ripgrep); until then search by a command, such as grep -rn", f.ssh.SSH.Host)
	case exit.Code > 2 || exit.Code == 2 && len(out.Bytes()) == 0:
		return nil, fmt.Errorf("searching on %s: %s", f.ssh.SSH.Host, failureText(errs.text(), exit))
	case out.Over:
		return nil, errors.New("there are far too many matches to be brought over; search for something rarer, or in a smaller folder")
	}
	return out.Bytes(), nil
}

func pageOfFiles(out []byte, start string, named func(rel, name string) bool, q search.Query) *search.Found {
	found := &search.Found{Matches: []search.Match{}, Files: []string{}, Counts: map[string]int{}}
	var files []string
	for file := range strings.SplitSeq(string(out), "\x00") {
		name := strings.TrimPrefix(file, "./")
		if rel := strings.TrimPrefix(strings.TrimPrefix(name, start), "/"); name != "" && named(rel, path.Base(name)) {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	found.Total = len(files)
	found.Files = append(found.Files, page(files, q)...)
	found.Truncated = q.Offset+q.Limit < found.Total
	return found
}

func page[T any](all []T, q search.Query) []T {
	from := min(q.Offset, len(all))
	return all[from:min(from+q.Limit, len(all))]
}

// hit is a file with its matching lines and their context.
type hit struct {
	name    string
	matches []int
	text    map[int]string
}

func pageOfLines(out []byte, q search.Query) (*search.Found, error) {
	hits, err := hitsOf(out)
	if err != nil {
		return nil, err
	}
	found := &search.Found{Matches: []search.Match{}, Files: []string{}, Counts: map[string]int{}}
	total := 0
	for _, h := range hits {
		total += len(h.matches)
	}
	found.Total, found.Truncated = total, q.Offset+q.Limit < total
	switch q.Mode {
	case search.ModeFiles:
		for _, h := range page(hits, q) {
			found.Files = append(found.Files, h.name)
		}
		found.Total, found.Truncated = len(hits), q.Offset+q.Limit < len(hits)
	case search.ModeCount:
		for _, h := range page(hits, q) {
			found.Counts[h.name] = len(h.matches)
		}
		found.Truncated = q.Offset+q.Limit < len(hits)
	default:
		var all []search.Match
		for _, h := range hits {
			for _, line := range h.matches {
				if len(all) < searchHits {
					all = append(all, h.match(line, q.Context))
				}
			}
		}
		found.Matches = append(found.Matches, page(all, q)...)
	}
	return found, nil
}

func (h *hit) match(line, around int) search.Match {
	m := search.Match{Path: h.name, Line: line, Content: h.text[line]}
	for at := line - around; at <= line+around; at++ {
		text, ok := h.text[at]
		if ok && at < line {
			m.Before = append(m.Before, text)
		} else if ok && at > line {
			m.After = append(m.After, text)
		}
	}
	return m
}

// text is rg's representation of possibly invalid UTF-8.
type text struct {
	Text  *string
	Bytes []byte
}

func (t text) String() string {
	if t.Text != nil {
		return *t.Text
	}
	return strings.ToValidUTF8(string(t.Bytes), "\uFFFD")
}

// hitsOf reads the records of rg --json, by name.
func hitsOf(out []byte) (hits []*hit, err error) {
	var now *hit
	done := false
	for line := range bytes.Lines(out) {
		var m struct {
			Type string
			Data struct {
				Path, Lines  text
				LineNumber   int    `json:"line_number"`
				BinaryOffset *int64 `json:"binary_offset"`
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("reading what rg said: %w", err)
		}
		switch m.Type {
		case "begin":
			now = &hit{name: strings.TrimPrefix(m.Data.Path.String(), "./"), text: map[int]string{}}
		case "match", "context":
			if now == nil {
				continue
			}
			now.text[m.Data.LineNumber] = strings.TrimRight(m.Data.Lines.String(), "\r\n")
			if m.Type == "match" {
				now.matches = append(now.matches, m.Data.LineNumber)
			}
		case "end":
			if now != nil && len(now.matches) > 0 && m.Data.BinaryOffset == nil {
				hits = append(hits, now)
			}
			now = nil
		case "summary":
			done = true
		}
	}
	if !done {
		return nil, errors.New("the search was cut short: the connection was lost, or rg failed")
	}
	slices.SortFunc(hits, func(a, b *hit) int { return strings.Compare(a.name, b.name) })
	return hits, nil
}
