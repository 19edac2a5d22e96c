package file

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	notebookBytes = 16 << 20 // longer notebooks are shown as JSON
	outputChars   = 2_000    // of a cell's output
)

// notebook is the shown part of a Jupyter notebook.
type notebook struct {
	Cells []struct {
		Type    string           `json:"cell_type"`
		Source  notebookText     `json:"source"`
		Count   *int             `json:"execution_count"`
		Outputs []notebookOutput `json:"outputs"`
	} `json:"cells"`
	Format int `json:"nbformat"`
}

// notebookOutput is an output of a cell.
type notebookOutput struct {
	Text      notebookText               `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Name      string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// notebookText is a string, or a list of lines.
type notebookText string

func (t *notebookText) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		*t = notebookText(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

// readNotebook shows a notebook by its cells. If it is not a valid notebook, the text is
// shown.
func readNotebook(ctx context.Context, env *callEnv, w *workspace.Window, asked shownWindow) (readOut, bool) {
	if !strings.EqualFold(filepath.Ext(w.Path), ".ipynb") || w.Size > notebookBytes {
		return readOut{}, false
	}
	f, err := env.Files.Read(ctx, w.Path)
	if err != nil {
		return readOut{}, false
	}
	var n notebook
	if json.Unmarshal(withoutBOM(f.Text), &n) != nil || n.Format < 4 || n.Cells == nil {
		return readOut{}, false
	}
	lines := n.lines()
	first := min(asked.offset-1, len(lines))
	last := min(first+asked.limit, len(lines))
	out := window(&workspace.Window{Path: w.Path, Window: textenc.Window{Lines: lines[first:last], Total: len(lines), Size: w.Size}}, asked.offset, env.Reader.Script)
	said := notes{"a notebook, shown by its cells; in the file they are JSON, and edits are made in that"}
	if out.Note != "" {
		said.add(out.Note)
	}
	out.Note = said.String()
	return out, true
}

func (n notebook) lines() []string {
	var lines []string
	add := func(text string) { lines = append(lines, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...) }
	for i, c := range n.Cells {
		head := fmt.Sprintf("# %%%% cell %d [%s]", i+1, c.Type)
		if c.Count != nil {
			head += fmt.Sprintf(" In[%d]", *c.Count)
		}
		add(head)
		add(string(c.Source))
		for _, o := range c.Outputs {
			add("# %% output")
			add(o.shown())
		}
	}
	return lines
}

// shown returns the text, error or kind of an output.
func (o notebookOutput) shown() string {
	text := string(o.Text)
	if o.Name != "" {
		text = strings.Join(append(o.Traceback, o.Name+": "+o.Value), "\n")
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Data)) {
		var said notebookText
		switch readable := json.Unmarshal(o.Data[kind], &said) == nil; {
		case kind == "text/plain" && readable:
			text += string(said)
		case strings.HasPrefix(kind, "text/") && o.Data["text/plain"] != nil: // the same again
		case strings.HasPrefix(kind, "text/") && readable:
			text += string(said)
		default:
			text += fmt.Sprintf("[%s, %d characters of data]\n", kindName(kind), len(said))
		}
	}
	var plain strings.Builder
	p := tools.NewPlainText(nil, func(b []byte) { plain.Write(b) })
	_, _ = p.Write([]byte(text)) // it never fails
	p.Close()
	return tools.CutMiddle(plain.String(), outputChars)
}
