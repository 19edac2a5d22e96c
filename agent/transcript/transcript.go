// Package transcript writes a session as Markdown: the text of the user and the model,
// each call with its result, and the calls of scripts.
//
// A [Writer] is an [agent.Sink], for replays and for live turns. Text from the model or a tool
// cannot end a fence or imitate the heading of a call.
package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Writer writes all events to Out. It is not safe for concurrent use.
type Writer struct {
	Out    io.Writer
	IDs    bool // also write the ids of messages
	inText bool
	err    error

	nesting Nesting // of the text so far
}

// Err returns the first error of writing.
func (w *Writer) Err() error { return w.err }

// Head writes the title of a transcript.
func (w *Writer) Head(title, id, cwd string) {
	if title == "" {
		title = "Transcript"
	}
	w.printf("# %s\n\nSession %s in %s\n", shorten.OneLine(title, 200), id, cwd)
}

// Event writes an event. It makes a Writer an [agent.Sink].
func (w *Writer) Event(e agent.Event) {
	if text, ok := e.(agent.Text); ok {
		if !w.inText {
			w.printf("\n## Hermes%s\n\n", w.id(text.MessageID))
		}
		w.inText = true
		w.printf("%s", text.Text)
		return
	}
	if w.inText {
		w.printf("\n")
		w.inText = false
	}
	switch e := e.(type) {
	case agent.UserMessage:
		w.printf("\n## You%s\n\n%s\n", w.id(e.MessageID), e.Text)
		w.attached(e)
	case agent.Thought:
		w.printf("\n%s\n", markup.Quote(e.Text))
	case agent.CallStarted:
		title := e.Title
		if title == "" {
			title = e.Call.Name
		}
		w.printf("\n### %s\n\n%s", shorten.OneLine(title, 200), markup.Fenced("json", pretty(e.Call.Args))+"\n")
	case agent.CallEnded:
		w.printf("\n%s", markup.Fenced("json", pretty(e.Result.JSON))+"\n")
		w.inner(e.Result.Shown)
	case agent.Compaction:
		if text := e.String(); text != "" {
			w.printf("\n> %s\n", shorten.OneLine(text, 1000))
		}
	}
}

// attached lists the attachments of a prompt: pictures by name, and the attached text for the
// model.
func (w *Writer) attached(e agent.UserMessage) {
	for _, image := range e.Images {
		w.printf("\n- picture %s · %s\n", code(cmp.Or(image.Name, "pasted")), shorten.OneLine(image.MIMEType, 60))
	}
	if e.Attached != "" {
		w.printf("\nAttached:\n\n%s", markup.Fenced("", e.Attached)+"\n")
	}
}

func (w *Writer) id(message string) string {
	if !w.IDs {
		return ""
	}
	return " · " + message
}

// End completes the last line.
func (w *Writer) End() {
	if w.inText {
		w.printf("\n")
		w.inText = false
	}
}

// inner lists the calls of a script.
func (w *Writer) inner(shown []tools.Content) {
	head := "\nCalls of the script:\n\n"
	for _, c := range shown {
		if c.Inner == nil {
			continue
		}
		w.printf("%s- sandbox_tool_call `%s` %s · %.3f s · %s\n", head,
			c.Inner.Tool, code(string(c.Inner.Arguments)), c.Inner.Duration, c.Inner.Status)
		head = ""
	}
}

func (w *Writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = io.WriteString(w.Out, w.nesting.Add(fmt.Sprintf(format, args...)))
	}
}

func pretty(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// code returns a text as a short line of code in Markdown.
func code(text string) string { return markup.Code(shorten.OneLine(text, 300)) }
