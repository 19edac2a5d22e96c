package messages_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
)

// recorded is the event stream of a reply with all kinds of blocks.
var recorded = []string{begin, ping,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"think"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Zm9v"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"some text"}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}`,
	`{"type":"content_block_stop","index":3}`,
	`{"type":"content_block_start","index":4,"content_block":{"type":"server_tool_use","id":"s","name":"web","input":{}}}`,
	`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
	`{"type":"content_block_stop","index":4}`,
	stop("tool_use"), end,
}

// FuzzDecoder decodes events in any order, cut, repeated, and changed. Each stream must end
// with a single finish or an error, and the reply must become a request again.
func FuzzDecoder(f *testing.F) {
	f.Add(strings.Join(recorded, "\n"), uint64(0))
	for i, e := range recorded {
		f.Add(strings.Join(recorded[:i], "\n"), uint64(i))
		f.Add(strings.Join(recorded, "\n")+"\n"+e, uint64(i))
		f.Add(strings.Replace(strings.Join(recorded, "\n"), e, strings.NewReplacer("content_block", "content_blot", "text", "smell").Replace(e), 1), uint64(i))
	}
	f.Add(`{"type":"message","content":[{"type":"text","text":"a"},7,null,{"type":"tool_use"}],"stop_reason":"end_turn"}`, uint64(1))
	f.Fuzz(func(t *testing.T, text string, order uint64) {
		lines := strings.Split(text, "\n")
		if order > 0 {
			random := rand.New(rand.NewPCG(order, 0))
			i, j := random.IntN(len(lines)), random.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		}
		reply, finishes := new(model.Reply), 0
		d := messages.API{}.Decoder(&model.Request{Tools: []model.Tool{{Name: "read"}}}, target, func(delta model.Delta) bool {
			if finishes > 0 {
				t.Errorf("%+v after the finish", delta)
			}
			if delta.Finish != "" {
				finishes++
			}
			return reply.Add(delta) == nil
		})
		for _, line := range lines {
			if d.Event("", []byte(line)) != nil {
				return
			}
		}
		err := d.End(false)
		var known *model.Error
		if err == nil && finishes != 1 && len(reply.Calls) <= model.MaxCalls || err != nil && !errors.As(err, &known) {
			t.Fatalf("%d finishes, %v", finishes, err)
		}
		for _, cut := range []bool{false, true} {
			req := &model.Request{Messages: []model.Message{prompt("p"), {Role: model.Assistant, Parts: reply.Parts()}}}
			if !cut {
				req.Messages = append(req.Messages, prompt("q"))
			}
			body(t, req, target)
		}
	})
}

// TestReordered decodes the recorded reply with two events exchanged, for all pairs, and with
// an event left out.
func TestReordered(t *testing.T) {
	t.Parallel()
	for i := range recorded {
		for j := i; j < len(recorded); j++ {
			events := append([]string(nil), recorded...)
			if events[i], events[j] = events[j], events[i]; i == j {
				events = append(events[:i:i], events[i+1:]...)
			}
			reply, _, err := decode(&model.Request{Tools: []model.Tool{{Name: "read"}}}, target, stream(events...))
			var known *model.Error
			if err != nil && (!errors.As(err, &known) || known.Kind != model.ErrCut) || err == nil && reply.Finish == "" {
				t.Errorf("events %d and %d: %q, %v", i, j, reply.Finish, err)
			}
			body(t, &model.Request{Messages: []model.Message{prompt("p"), {Role: model.Assistant, Parts: reply.Parts()}}}, target)
		}
	}
}

// TestPieces decodes pieces similar to the frequent form.
func TestPieces(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\"}\u00e9\n"}}`:          "a\"}é\n",
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é"}     }`:                "é",
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"new":{"b":"}"}}`:     "a",
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","new":1}}`:             "a",
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}`:             "a",
		`{"type":"content_block_delta","index":0,"delta":{"text":"a","type":"text_delta"}}`:                     "a",
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a"}}`:             "",
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}`:                     "",
		`{"type":"content_block_delta","index":99999999999,"delta":{"type":"text_delta","text":"a"}}`:           "",
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`:                      "",
		"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\xff\"}}": "a\ufffd",
	} {
		reply, _, err := decode(&model.Request{}, target, stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, event, stop("end_turn")))
		if err != nil || reply.Text != want {
			t.Errorf("%s: %q, %v", event, reply.Text, err)
		}
	}
}

// BenchmarkDelta decodes a piece of text.
func BenchmarkDelta(b *testing.B) {
	for name, event := range map[string]string{
		"text":     `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" some words of text"}}`,
		"thinking": `{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":" some words of text"}}`,
		"call":     `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":" some words of text"}}`,
	} {
		b.Run(name, func(b *testing.B) {
			data := []byte(event)
			b.ReportAllocs()
			var d api.Decoder
			for i := range b.N {
				if i%10000 == 0 { // so the response stays below its limits
					d = messages.API{}.Decoder(&model.Request{}, target, func(model.Delta) bool { return true })
					for index, kind := range []string{"text", "thinking", "tool_use"} {
						if err := d.Event("", fmt.Appendf(nil, `{"type":"content_block_start","index":%d,"content_block":{"type":%q}}`, index, kind)); err != nil {
							b.Fatal(err)
						}
					}
				}
				if err := d.Event("content_block_delta", data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRequest encodes a turn of a session with 1,000 messages.
func BenchmarkRequest(b *testing.B) {
	req := &model.Request{System: strings.Repeat("system ", 2000), Tools: []model.Tool{{Name: "read"}}, Effort: "high"}
	for i := range 333 {
		id := fmt.Sprint("call_", i)
		req.Messages = append(req.Messages, prompt("next"), model.Message{Role: model.Assistant, Parts: []model.Part{
			{Type: model.ReasoningType, Text: strings.Repeat("hm ", 100), State: state(`{"type":"thinking","signature":"` + strings.Repeat("A", 600) + `","thinking":"` + strings.Repeat("hm ", 100) + `"}`)},
			model.TextPart(strings.Repeat("text ", 100)), model.CallPart(model.Call{ID: id, Name: "read", Args: `{"path":"a"}`}),
		}}, model.ResultMessage(id, "read", strings.Repeat("line of a file\n", 200)))
	}
	for name, encoded := range map[string]*api.Cached{"new": nil, "kept": {}} {
		b.Run(name, func(b *testing.B) {
			t := at(opus, func(t *api.Target) { t.Encoded = encoded })
			b.ReportAllocs()
			for range b.N {
				if _, err := (messages.API{}).Encode(req, t); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
