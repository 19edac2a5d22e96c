package file

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

const (
	writeDiffBytes = 4_000   // a longer diff is not worth the model's while
	shownDiffBytes = 1 << 20 // nor, of longer files, the editor's
)

//go:embed write.md
var writeWords string

type writeIn struct {
	Path    string `json:"path" jsonschema:"relative to the workspace folder"`
	Content string `json:"content" jsonschema:"the whole text of the file, without line numbers"`
}

type writeOut struct {
	BytesWritten int      `json:"bytes_written"`
	Created      bool     `json:"created"`
	Diff         string   `json:"diff,omitempty"`
	SyntaxErrors []string `json:"syntax_errors,omitempty"`
	problems
	Note string `json:"note,omitempty"`
}

func writeTool(c Config) tools.Tool {
	return tools.New(tools.Tool{
		Name: "write_file", Toolset: "file", Replay: tools.Replayed, Kind: tools.KindEdit, EditsFiles: true,
		Description: strings.TrimSpace(writeWords),
		Brief:       "Create a file or replace a whole one.",
		BriefParams: []string{"path", "content"},
		Title:       tools.Titled(func(in writeIn) string { return "Write " + in.Path }),
		Script:      `(path, content) → bytes_written, created`,
		Edit: editOf(c, func(ctx context.Context, env *callEnv, in writeIn) (tools.Edit, error) {
			var note string
			fresh, _ := newText(ctx, env, in.Path, in.Content)
			return gate.EditOf(ctx, env.Bounds, writeChanges(in), planWrite(env, in.Path, writeChange(in, &note), fresh))
		}),
	}, with(c, write))
}

func writeChanges(in writeIn) []gate.Change { return []gate.Change{{Doing: "Write ", Path: in.Path}} }

// writeChange returns the change of an existing file. It sets note.
func writeChange(in writeIn, note *string) func(old []byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		text, err := onText(func(old string) (like string, err error) {
			if err := leavesOut(old, in.Content); err != nil {
				return "", err
			}
			like, *note = keepLineEnds(old, in.Content)
			return like, nil
		})(old)
		if err == nil && bytes.Equal(text, old) {
			err = errUnchanged
		}
		return text, err
	}
}

func write(ctx context.Context, env *callEnv, call tools.Call, in writeIn) (tools.Result, error) {
	if numbered(in.Content) && !tabular(in.Path) {
		return tools.Fail("every line of content begins with a line number and |, as read_file shows them; nothing was written. Send the file's own text, without the numbers."), nil
	}
	var note string
	change := writeChange(in, &note)
	fresh, how := newText(ctx, env, in.Path, in.Content)
	asked := &approval{}
	if err := gate.CheckEdit(ctx, env.Env, env.Bounds, call, writeChanges(in), asked.record(planWrite(env, in.Path, change, fresh))); err != nil {
		return tools.Result{}, err
	}
	known := diagnose(ctx, env, in.Path)
	made := asked.edited(env, in.Path, func(old []byte, _ workspace.Since) ([]byte, error) { return change(old) })
	written, err := env.Files.Edit(ctx, in.Path, withoutRebase(func(old []byte) ([]byte, error) { return made(old, workspace.Since{}) }))
	if errors.Is(err, workspace.ErrNotFound) {
		note = how
		written, err = create(ctx, env, in.Path, fresh, asked)
	}
	if errors.Is(err, errUnchanged) {
		return tools.OK(writeOut{Note: "the file already holds exactly this; nothing was written"}), nil
	}
	if err != nil {
		return tools.Result{}, err
	}
	out := writeOut{BytesWritten: len(written.New), Created: written.Created, SyntaxErrors: afterwards(ctx, env, written), problems: known.notice(ctx, written), Note: joined(note, written.Note)}
	if !written.Created {
		out.Diff = shownDiff(written)
		if len(out.Diff) > writeDiffBytes {
			out.Diff = ""
		}
	}
	return tools.OK(out).Brief(writeBrief{out.BytesWritten, out.Created, out.SyntaxErrors, out.problems, out.Note}).With(shownEdit(written)...), nil
}

// create writes a new file.
func create(ctx context.Context, env *callEnv, path string, text []byte, asked *approval) (*workspace.Written, error) {
	planned, err := plannedEdit(env, path, nil, text)
	if err == nil {
		err = asked.agrees(planned)
	}
	if err != nil {
		return nil, err
	}
	return env.Files.Write(ctx, path, text)
}

// writeBrief is a writeOut for the model, which knows the text.
type writeBrief struct {
	BytesWritten int      `json:"bytes_written"`
	Created      bool     `json:"created,omitempty"`
	SyntaxErrors []string `json:"syntax_errors,omitempty"`
	problems
	Note string `json:"note,omitempty"`
}

var errUnchanged = errors.New("nothing to change")

// withoutRebase returns a change that runs only once: a whole text cannot be rebased over the
// user's typing.
func withoutRebase(change func([]byte) ([]byte, error)) func([]byte) ([]byte, error) {
	var first []byte
	called := false
	return func(old []byte) ([]byte, error) {
		if called && !bytes.Equal(first, old) {
			return nil, fmt.Errorf("the file was changed while it was being written; nothing was written. Read it again: %w", workspace.ErrStale)
		}
		first, called = old, true
		return change(old)
	}
}

// keepLineEnds keeps a file's line ends: the model does not see them and so does not write them.
func keepLineEnds(old, content string) (text, note string) {
	crlf := strings.Count(old, "\r\n")
	if crlf > 0 && crlf == strings.Count(old, "\n") && !strings.Contains(content, "\r") && strings.Contains(content, "\n") {
		return strings.ReplaceAll(content, "\n", "\r\n"), "kept the file's CRLF line ends"
	}
	return content, ""
}

// placeholder matches a line that stands for lines of the file, such as "// ... existing code ...".
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[ \t]*(?://|#|--|;|%|/\*|<!--|\{/\*)?[ \t]*(?:\.\.\.|…)[ \t]*\(?(?:the )?(?:rest of|remaining|existing|other|previous|unchanged|same)\b.*$`)
})

// leavesOut returns an error if content is not the whole text of a file: a placeholder line, or a
// number at the start of each line. old is the present text.
func leavesOut(old, content string) error {
	if line := strings.TrimSpace(placeholder().FindString(content)); old != "" && line != "" && !strings.Contains(old, line) {
		return fmt.Errorf("content has the line %q in place of lines of the file. Nothing was written. Send the whole text, or change a part with patch", tools.OneLine(line, 80))
	}
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	if m := lineNumber().FindStringSubmatch(lines[0]); m != nil && m[2] != "" && strings.HasPrefix(old, m[2]+"\n") {
		for i, line := range lines {
			if m := lineNumber().FindStringSubmatch(line); m == nil || m[1] != strconv.Itoa(i+1) {
				return nil
			}
		}
		return errors.New("every line of content begins with its number; nothing was written. Send the file's own text, without the numbers")
	}
	return nil
}

// lineNumber is a line as other agents and programs show it.
var lineNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(\d+)(?:\t|→|: ?| ?\| ?)(.*)$`) })

// numbered reports whether content contains read_file's line numbers.
func numbered(content string) bool {
	last := -1
	for line := range strings.Lines(content) {
		prefix, _, bar := strings.Cut(line, "|")
		n, err := strconv.Atoi(strings.TrimSpace(prefix))
		if !bar || err != nil || n < 1 || last >= 0 && n != last+1 {
			return false
		}
		last = n
	}
	return last > 0
}

// tabular reports whether a file may contain numbered lines with bars.
func tabular(name string) bool {
	return slices.Contains([]string{".csv", ".psv", ".tsv", ".dat", ".tbl"}, strings.ToLower(path.Ext(name)))
}

// texts returns the texts before and after a change as UTF-8, in any charset of the file.
func texts(w *workspace.Written) (old, new []byte) {
	charset := textenc.CharsetOf(w.Old)
	if w.Old == nil {
		charset = textenc.CharsetOf(w.New)
	}
	return charset.Decode(w.Old), charset.Decode(w.New)
}

// shownDiff returns the change in the format of git apply.
func shownDiff(w *workspace.Written) string {
	old, new := texts(w)
	if w.From == "" {
		return diff.Unified(w.Name, old, new)
	}
	return diff.Move(w.From, w.Name, old, new)
}

// shownEdit returns the editor's view of a changed file.
func shownEdit(w *workspace.Written) []tools.Content {
	old, new := texts(w)
	place := tools.Content{Location: &tools.Location{Path: w.Path, Line: firstChanged(old, new)}}
	if len(old)+len(new) > shownDiffBytes {
		return []tools.Content{place}
	}
	diff := &tools.Diff{Path: w.Path, New: string(new)}
	if !w.Created {
		text := string(old)
		diff.Old = &text
	}
	return []tools.Content{{Diff: diff, Location: place.Location}}
}

// firstChanged returns the number of the first different line. If the end was removed, it returns
// the last line.
func firstChanged(old, new []byte) int {
	n := 0
	for n < min(len(old), len(new)) && old[n] == new[n] {
		n++
	}
	if n == len(new) && n > 0 && new[n-1] == '\n' {
		n--
	}
	return 1 + bytes.Count(new[:n], []byte("\n"))
}
