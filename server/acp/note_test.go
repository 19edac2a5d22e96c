package acp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/acp/acptest"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/tools"
)

// writing is a client that only reads notifications.
type writing struct {
	Peer
	w *wire.Writer
}

func (p writing) Post(key string, n wire.Note) error { return p.w.Post(key, n) }

type gate struct {
	strings.Builder
	open chan struct{}
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	return g.Builder.Write(b)
}

// TestASlowClientGetsTheSameInFewerFrames compares the final states of two clients: one stops
// reading for a while, the other reads all the time.
func TestASlowClientGetsTheSameInFewerFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &gate{open: make(chan struct{})}
		w := wire.NewWriter(out, wire.LineFraming)
		a := NewAgent(app.New(server.Options{Home: t.TempDir()}), writing{w: w}, Options{})
		s := a.Client.Sink("s")
		var want strings.Builder
		for i := range 1000 {
			word := fmt.Sprintf("wörd%d<&>\x80\n", i)
			s.Event(agent.Text{MessageID: "m", Text: word})
			want.WriteString(strings.ToValidUTF8(word, "\uFFFD"))
		}
		call := tools.Call{ID: "c", Name: "terminal", Args: json.RawMessage(`{"command":"x"}`)}
		s.Event(agent.CallStarted{Call: call, Kind: tools.KindExecute, Title: "$ x"})
		for i := range 1000 {
			s.Event(agent.CallProgress{Progress: tools.Progress{CallID: "c", Message: fmt.Sprint(i), Shown: []tools.Content{{Text: fmt.Sprint(i)}}}})
		}
		s.Event(agent.CallEnded{Call: call, Result: tools.OK(map[string]any{"output": "fine", "exit_code": 0})})
		for i := range 100 {
			s.Event(agent.UsageChanged{Used: i})
		}
		close(out.open)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		var last acp.ToolCall
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for _, line := range lines {
			acptest.Validate(t, acptest.FromAgent, []byte(line))
			var f struct {
				Params struct {
					Update struct {
						SessionUpdate string
						Content       json.RawMessage
					}
				}
			}
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err)
			}
			switch f.Params.Update.SessionUpdate {
			case acp.UpdateAgentMessage:
				var block acp.ContentBlock
				_ = json.Unmarshal(f.Params.Update.Content, &block)
				got.WriteString(block.Text)
			case acp.UpdateToolCall, acp.UpdateToolCallNews:
				var n struct{ Params struct{ Update acp.ToolCall } }
				_ = json.Unmarshal([]byte(line), &n)
				last = n.Params.Update
			}
		}
		if got.String() != want.String() {
			t.Error("the text differs")
		}
		if last.Status != acp.StatusCompleted || last.Content[0].Content.Text != "fine" {
			t.Errorf("the call ended as %+v", last)
		}
		if len(lines) > 100 {
			t.Errorf("%d frames for 2,100 events that waited", len(lines))
		}
	})
}

func BenchmarkDelta(b *testing.B) {
	w := wire.NewWriter(io.Discard, wire.LineFraming)
	defer w.Close()
	a := NewAgent(app.New(server.Options{Home: b.TempDir()}), writing{w: w}, Options{})
	s := a.Client.Sink("01900000-0000-7000-8000-000000000000")
	b.ReportAllocs()
	for b.Loop() {
		s.Event(agent.Text{MessageID: "01900000-0000-7000-8000-000000000001", Text: "a few words of"})
	}
}

// TestEventsOfExtensions sends the event of an extension with its data, as a notice or as a thought.
func TestEventsOfExtensions(t *testing.T) {
	t.Parallel()
	event := agent.Notice{Text: "A page is open.", Own: &agent.ExtensionEvent{Extension: "browser", Kind: "page", Data: map[string]int{"tabs": 2}}}
	const meta = `"event":{"extension":"browser","kind":"page","data":{"tabs":2}}`
	for want, can := range map[string]acp.ClientCapabilities{
		`"sessionUpdate":"notice","severity":"info","title":"A page is open.","_meta":{"hermes":{` + meta + `}}`: {Session: &acp.ClientSessionCapabilities{Notices: &acp.Supported{}}},
		`"text":"A page is open.\n"},"_meta":{"hermes":{` + meta + `,"notice":true}}`:                            {},
	} {
		out := &gate{open: make(chan struct{})}
		close(out.open)
		w := wire.NewWriter(out, wire.LineFraming)
		a := NewAgent(app.New(server.Options{Home: t.TempDir()}), writing{w: w}, Options{})
		a.Client.SetCapabilities(ReadClient(encode(t, can)))
		a.Client.Sink("s").Event(event)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		acptest.Validate(t, acptest.FromAgent, []byte(out.String()))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
