package file

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

const (
	readLines     = 500     // lines of a window when none are asked for
	readLinesMax  = 10_000  // lines of a window at most
	readLineChars = 2_000   // characters shown of a line
	readChars     = 100_000 // characters of a result
	readTokens    = 24_000  // estimated limit of a result for a model
	readResultCap = 640_000 // bytes: readChars however they are escaped
)

//go:embed read.md
var readWords string

type readIn struct {
	Path   string `json:"path" jsonschema:"file or directory, relative to the workspace folder"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line; default 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of lines; default 500"`
}

type readOut struct {
	Content    string `json:"content"`
	TotalLines int    `json:"total_lines"`
	FileSize   int64  `json:"file_size"`
	Truncated  bool   `json:"truncated"`
	NextOffset int    `json:"next_offset,omitempty"`
	Note       string `json:"note,omitempty"`
}

func readTool(c Config) tools.Tool {
	return tools.New(tools.Tool{
		Name: "read_file", Toolset: "file", Replay: tools.Replayed, Kind: tools.KindRead, ReadOnly: true,
		Description: strings.TrimSpace(readWords),
		Brief:       "Read a file in parts, or list a directory. Lines come as N|text; N| is not part of the file. If there is more, call again with offset=next_offset.",
		BriefParams: []string{"path", "offset", "limit"},
		ResultCap:   readResultCap,
		Title:       tools.Titled(readTitle),
		Script:      `(path, offset=1, limit=500) → content ("1|line\n…"), total_lines, truncated, next_offset`,
	}, with(c, read))
}

func readTitle(in readIn) string {
	if in.Offset > 1 {
		return fmt.Sprintf("Read %s from line %d", in.Path, in.Offset)
	}
	return "Read " + in.Path
}

func read(ctx context.Context, env *callEnv, call tools.Call, in readIn) (tools.Result, error) {
	if err := gate.CheckRead(ctx, env.Env, env.Bounds, call, tools.KindRead, readTitle(in), in.Path); err != nil {
		return tools.Result{}, err
	}
	env, done := onOutputs(env, in.Path)
	defer done()
	asked := shownWindow{offset: max(in.Offset, 1), limit: in.Limit}
	if asked.limit <= 0 {
		asked.limit = readLines
	}
	asked.limit = min(asked.limit, readLinesMax)
	w, err := env.Files.Lines(ctx, in.Path, asked.offset, asked.limit)
	switch {
	case errors.Is(err, workspace.ErrNotRegular):
		if info, statErr := env.Files.Stat(ctx, in.Path); statErr == nil && info.IsDir() {
			return listing(ctx, env, in.Path, asked.offset, asked.limit)
		}
		return tools.Result{}, err
	case errors.Is(err, workspace.ErrNotFound):
		if name, line, ok := cutLine(in.Path); ok {
			if _, statErr := env.Files.Stat(ctx, name); statErr == nil {
				return tools.Fail("%s does not exist, but %s does. Nothing was read. Send path %q and offset %d", in.Path, name, name, line), nil
			}
		}
		return tools.Result{}, err
	case err != nil:
		return tools.Result{}, err
	}
	asked.path = w.Path
	env.Recall.read(w.Path)
	place := tools.Content{Location: &tools.Location{Path: w.Path, Line: max(min(asked.offset, w.Total), 1)}}
	if w.Binary {
		return readBinary(ctx, env, w, in.Path).With(place), nil
	}
	out := window(w, asked.offset, env.Reader.Script)
	if cells, ok := readNotebook(ctx, env, w, asked); ok {
		out = cells
	}
	if len(out.Content) > repeatChars && env.Recall.again(asked, out) {
		out = beginningOf(out, asked.offset)
	}
	return tools.OK(out).Brief(out.brief()).With(place), nil
}

// cutLine splits a path with a trailing line number, as in main.go:5.
func cutLine(path string) (name string, line int, ok bool) {
	i := strings.LastIndexByte(path, ':')
	if i < 1 {
		return "", 0, false
	}
	line, err := strconv.Atoi(path[i+1:])
	return path[:i], line, err == nil
}

// readBrief is a readOut for the model.
type readBrief struct {
	Content    string `json:"content"`
	TotalLines int    `json:"total_lines"`
	Truncated  bool   `json:"truncated,omitempty"`
	NextOffset int    `json:"next_offset,omitempty"`
	Note       string `json:"note,omitempty"`
}

func (out readOut) brief() readBrief {
	return readBrief{Content: out.Content, TotalLines: out.TotalLines, Truncated: out.Truncated, NextOffset: out.NextOffset, Note: out.Note}
}

const (
	repeatChars = 4_000 // a shorter answer is given again
	repeatLines = 10    // a longer read repeats only these
)

// beginningOf returns a shorter window of a read already shown to the model.
func beginningOf(out readOut, offset int) readOut {
	lines := strings.SplitN(out.Content, "\n", repeatLines+1)
	if len(lines) <= repeatLines {
		return out
	}
	out.Content = strings.Join(lines[:repeatLines], "\n")
	out.Truncated, out.NextOffset = true, offset+repeatLines
	n := notes{"unchanged since you read these lines, which stand above in full; if you need them again, repeat this call"}
	if out.Note != "" {
		n.add(out.Note)
	}
	out.Note = n.String()
	return out
}

// window shows lines, as many as fit. For a script, their tokens do not count.
func window(w *workspace.Window, offset int, script bool) readOut {
	out := readOut{TotalLines: w.Total, FileSize: w.Size}
	var b strings.Builder
	var n notes
	if w.Charset != textenc.CharsetUTF8 {
		n.add(fmt.Sprintf("the file is written in %v; edits keep that", w.Charset))
	}
	shown, chars, tokens := 0, 0, 0
	for i, line := range w.Lines {
		if offset+i == 1 {
			line = strings.TrimPrefix(line, mark)
		}
		text := shownLine(line, offset+i, &n)
		chars += utf8.RuneCountInString(text) + 1
		if !script {
			tokens += tools.TokensInJSON(text) + 1
		}
		if shown > 0 && (chars > readChars || tokens > readTokens) {
			n.add("cut to fit; go on with next_offset")
			break
		}
		if shown > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		shown++
	}
	out.Content = b.String()
	if next := offset + shown; next <= w.Total && shown > 0 {
		out.Truncated, out.NextOffset = true, next
	}
	switch {
	case w.Total == 0:
		n.add("the file is empty")
	case offset > w.Total:
		n.add(fmt.Sprintf("the file ends at line %d", w.Total))
	}
	out.Note = n.String()
	return out
}

// shownLine is a line as the model sees it: numbered.
func shownLine(line string, number int, n *notes) string {
	if !utf8.ValidString(line) {
		n.add("bytes that are not UTF-8 are shown as \uFFFD")
		line = strings.ToValidUTF8(line, "\uFFFD")
	}
	if len(line) > readLineChars && utf8.RuneCountInString(line) > readLineChars {
		line = string([]rune(line)[:readLineChars]) + "…"
		n.add(fmt.Sprintf("lines that end in … are cut at %d characters", readLineChars))
	}
	return strconv.Itoa(number) + "|" + line
}

// notes are sentences about a result, without duplicates.
type notes []string

func (n *notes) add(note string) {
	for _, have := range *n {
		if have == note {
			return
		}
	}
	*n = append(*n, note)
}

func (n notes) String() string { return strings.Join(n, "; ") }

// listing shows the entries of a folder.
func listing(ctx context.Context, env *callEnv, path string, offset, limit int) (tools.Result, error) {
	entries, err := env.Files.List(ctx, path)
	if err != nil {
		return tools.Result{}, err
	}
	abs, err := env.Files.Abs(path)
	if err != nil {
		return tools.Result{}, err
	}
	first := min(offset-1, len(entries))
	last := min(first+limit, len(entries))
	var names []string
	for _, e := range entries[first:last] {
		names = append(names, entryName(e))
	}
	out := readOut{Content: strings.Join(names, "\n"), TotalLines: len(entries), Note: "a folder: its entries, one a line"}
	if last < len(entries) {
		out.Truncated, out.NextOffset = true, last+1
	}
	return tools.OK(out).Brief(out.brief()).With(tools.Content{Location: &tools.Location{Path: abs}}), nil
}

func entryName(e fs.DirEntry) string {
	name := tools.Visible(e.Name())
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		return name + " (link)"
	}
	return name
}
