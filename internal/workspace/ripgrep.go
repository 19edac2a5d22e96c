package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"
)

// Runner runs rg with args (its own name is not among them) in dir, with nothing
// to read on its standard input, and returns its exit code. err is for an rg that
// could not be run, or a context that has ended.
type Runner func(ctx context.Context, args []string, dir string, stdout io.Writer) (exit int, err error)

// errRipgrep says that rg did not search: not there, or it did not understand.
var errRipgrep = errors.New("ripgrep did not search")

// A record of rg longer than this is given up; the line it holds is no text.
const maxRecord = 64 << 20

// ripgrep searches below start with rg. It only tells where the matches are:
// their text is read through the folder's root. What it found counts when it has
// run to its end, so after an error another engine can begin anew.
func (s *search) ripgrep(ctx context.Context, start place) error {
	found := &ripgrepFound{search: s, start: start}
	args := []string{"--no-config", "--no-messages"}
	if s.q.Glob != "" {
		args = append(args, "--glob", s.q.Glob)
	}
	out := &records{}
	if s.q.Files {
		args = append(args, "--files", "--null")
		out.end, out.take = 0, found.file
	} else {
		args = append(args, "--json", "--crlf", "--regexp", s.q.Pattern) // behind a "=", rg 13 drops another one
		out.end, out.take = '\n', found.message
	}
	args = append(args, "--", filepath.FromSlash(start.rel))
	if s.w.gitConfig.badRulesAbove(start.abs()) {
		return fmt.Errorf("%w: there are ignore files that it should not open", errRipgrep)
	}
	exit, err := s.runRipgrep(ctx, args, start, out)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %v", errRipgrep, err)
	case !found.complete(exit):
		return fmt.Errorf("%w: exit code %d", errRipgrep, exit)
	}
	s.hits.merge(&found.hits)
	return nil
}

// runRipgrep runs rg, and stops it if a file of rules may keep it waiting.
func (s *search) runRipgrep(ctx context.Context, args []string, start place, out io.Writer) (exit int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	var watched sync.WaitGroup
	defer watched.Wait()
	defer close(done)
	watched.Go(func() { suspect(ctx, start.abs(), stop, done) })
	return s.w.Ripgrep(ctx, args, start.folder.path, out)
}

// ripgrepFound takes what rg says.
type ripgrepFound struct {
	search *search
	start  place
	hits   hits

	abs   string // the file that is being told about
	lines *lineHits
	done  bool // the summary has come
}

// complete reports whether rg has searched. Exit code 2 also means that some file
// could not be read, which is no reason to drop the others.
func (f *ripgrepFound) complete(exit int) bool {
	if f.search.q.Files {
		return exit == 0 || exit == 1 || exit == 2 && f.hits.named > 0
	}
	return f.done
}

// file takes one path of rg --files.
func (f *ripgrepFound) file(path []byte) error {
	if abs, ok := f.ours(string(path)); ok {
		f.search.name(&f.hits, f.start, abs)
	}
	return nil
}

// ours returns the absolute path of what rg has found, unless it belongs to
// another workspace folder inside this one.
func (f *ripgrepFound) ours(path string) (abs string, ok bool) {
	abs = filepath.Join(f.start.folder.path, path)
	p, ok := longest(f.search.w.current(), abs)
	return abs, ok && p.folder == f.start.folder
}

// message takes one record of rg --json.
func (f *ripgrepFound) message(record []byte) error {
	if line, ok := matchLine(record); ok {
		if f.lines != nil {
			f.lines.add(line)
		}
		return nil
	}
	var m struct {
		Type string
		Data struct {
			Path         struct{ Text, Bytes *string }
			BinaryOffset *int64 `json:"binary_offset"`
		}
	}
	if err := json.Unmarshal(record, &m); err != nil {
		return fmt.Errorf("record of ripgrep: %w", err)
	}
	switch m.Type {
	case "begin":
		f.begin(m.Data.Path.Text, m.Data.Path.Bytes)
	case "end":
		if f.lines != nil && f.lines.count > 0 && m.Data.BinaryOffset == nil {
			f.hits.add(f.search.w.Name(f.abs), f.abs, f.lines)
		}
		f.lines = nil
	case "summary":
		f.done = true
	}
	return nil
}

// begin notes the file that follows. The text of an open document is not what rg
// has read.
func (f *ripgrepFound) begin(text, base64 *string) {
	f.lines = nil
	var path []byte
	if text != nil {
		path = []byte(*text)
	} else if base64 == nil || json.Unmarshal([]byte(strconv.Quote(*base64)), &path) != nil {
		return
	}
	abs, ok := f.ours(string(path))
	if _, open := f.search.docs[abs]; !ok || open && f.search.pattern != nil {
		return
	}
	f.abs, f.lines = abs, f.search.newLines()
}

// matchLine is the line number of a match record. Quotes inside its strings are
// escaped, so the key cannot be mistaken.
func matchLine(record []byte) (line int, ok bool) {
	if !bytes.HasPrefix(record, []byte(`{"type":"match",`)) {
		return 0, false
	}
	_, rest, ok := bytes.Cut(record, []byte(`,"line_number":`))
	if !ok {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte{','})
	line, err := strconv.Atoi(string(digits))
	return line, err == nil
}

// records cuts what is written to it at each end byte.
type records struct {
	end  byte
	take func(record []byte) error
	open []byte // a record that has not ended
}

func (r *records) Write(p []byte) (int, error) {
	n := len(p)
	for {
		at := bytes.IndexByte(p, r.end)
		if at < 0 {
			r.open = append(r.open, p...)
			if len(r.open) > maxRecord {
				return 0, errors.New("a record of ripgrep is too long")
			}
			return n, nil
		}
		record := p[:at]
		if len(r.open) > 0 {
			r.open = append(r.open, record...)
			record = r.open
		}
		if err := r.take(record); err != nil {
			return 0, err
		}
		r.open, p = r.open[:0], p[at+1:]
	}
}
