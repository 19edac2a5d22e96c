package messages_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/messages/standin"
)

var pixel = model.Image{Name: "p.png", MIMEType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"}

// step appends the reply and the results of its calls to the history.
func step(req *model.Request, reply *model.Reply) {
	req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: reply.Parts()})
	for _, c := range reply.Calls {
		req.Messages = append(req.Messages, model.ResultMessage(c.ID, c.Name, "result of "+c.Args, pixel))
	}
}

// TestConversation plays a conversation of two turns with thinking, parallel calls and images.
// The strict server accepts each request, and each request reads the cache written by the
// previous request.
func TestConversation(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"claude-opus-5-5", "claude-sonnet-4-6", "claude-sonnet-4-5", "claude-3-5-haiku-20241022"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			thoughts := func(text string) []standin.Block {
				if strings.Contains(id, "3-5") {
					return nil
				}
				return []standin.Block{standin.Thinking(text), standin.Redacted()}
			}
			s := &standin.Server{Key: "k", Next: standin.Script(
				standin.Reply{Blocks: append(thoughts("Look at \"both\" <files>.\n"), standin.Text("I look. "), standin.Call("toolu_1", "read", `{"path": "a"}`), standin.Call("toolu_2", "list", `{}`))},
				standin.Reply{Blocks: append(thoughts("Now the other."), standin.Call("toolu_3", "Read", `{"file_path":"é\n"}`))},
				standin.Reply{Blocks: append(thoughts("Done."), standin.Text("All good.\n"))},
				standin.Reply{Blocks: []standin.Block{standin.Text("Bye.")}},
			)}
			target := server(t, s, id)
			req := &model.Request{System: "You are a test. " + strings.Repeat("x", 5000), Effort: "high",
				Tools:    []model.Tool{{Name: "read", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, {Name: "list"}},
				Messages: []model.Message{model.NewMessage(model.User, "go", model.ImagePart(pixel))}}
			written := 0
			for n, want := range []string{"I look. ", "", "All good.\n", "Bye."} {
				if n == 3 {
					req.Messages = append(req.Messages, model.NewMessage(model.User, "bye"))
				}
				reply, _, err := send(t, req, target)
				if err != nil || reply.Text != want {
					t.Fatalf("request %d: %+v, %v", n, reply, err)
				}
				if u := reply.Usage; u.CachedRead != written || u.CachedWrite == 0 || u.Input != u.CachedRead+u.CachedWrite {
					t.Errorf("request %d: %+v, where %d tokens are cached", n, u, written)
				}
				written = reply.Usage.CachedRead + reply.Usage.CachedWrite
				step(req, reply)
			}
		})
	}
}

// TestForeignHistory sends the history of another model, with state of another host, and
// continues it.
func TestForeignHistory(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"claude-opus-5-5", "claude-sonnet-4-5"} {
		s := &standin.Server{Next: standin.Script(
			standin.Reply{Blocks: []standin.Block{standin.Thinking("Hm."), standin.Call("toolu_1", "read", `{}`)}},
			standin.Reply{Blocks: []standin.Block{standin.Text("Done.")}},
		)}
		target := server(t, s, id)
		req := &model.Request{Effort: "high", Tools: []model.Tool{{Name: "read"}}, Messages: []model.Message{
			model.NewMessage(model.User, "go"),
			{Role: model.Assistant, Parts: []model.Part{
				{Type: model.ReasoningType, Text: "x", State: &model.State{API: "responses", Host: "api.openai.com", Data: []byte(`{"type":"reasoning"}`)}},
				model.CallPart(model.Call{ID: "functions.read:0", Name: "read", Args: `{"path":"a"}`}),
			}},
			model.ResultMessage("functions.read:0", "read", ""),
		}}
		for range 2 {
			reply, _, err := send(t, req, target)
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			step(req, reply)
		}
	}
}

// TestRefusedState checks that refused state is recognized. The same request without it is
// accepted.
func TestRefusedState(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"claude-opus-5-5", "claude-sonnet-4-5"} {
		s := &standin.Server{Next: standin.Script(
			standin.Reply{Blocks: []standin.Block{standin.Thinking("Hm."), standin.Call("toolu_1", "read", `{}`)}},
			standin.Reply{Blocks: []standin.Block{standin.Text("Done.")}},
		)}
		target := server(t, s, id)
		req := &model.Request{Effort: "high", Tools: []model.Tool{{Name: "read"}}, Messages: []model.Message{model.NewMessage(model.User, "go")}}
		reply, _, err := send(t, req, target)
		if err != nil {
			t.Fatal(err)
		}
		step(req, reply)
		s.Forget()
		var failed *model.Error
		if _, _, err := send(t, req, target); !errors.As(err, &failed) || failed.Kind != model.ErrState {
			t.Fatalf("%s: %v", id, err)
		}
		target.NoState, target.Encoded = true, &api.Cached{}
		if reply, _, err := send(t, req, target); err != nil || reply.Text != "Done." {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestChangedPrefix changes messages before thinking. Newer models then refuse the thinking;
// older models do not.
func TestChangedPrefix(t *testing.T) {
	t.Parallel()
	for id, refused := range map[string]bool{"claude-opus-5-5": true, "claude-sonnet-4-5": false} {
		for name, change := range map[string]func(*model.Request){
			"system": func(r *model.Request) { r.System = "other" },
			"tools":  func(r *model.Request) { r.Tools = append(r.Tools, model.Tool{Name: "list"}) },
			"prompt": func(r *model.Request) { r.Messages[0] = model.NewMessage(model.User, "other") },
		} {
			s := &standin.Server{Next: standin.Script(
				standin.Reply{Blocks: []standin.Block{standin.Thinking("Hm."), standin.Call("toolu_1", "read", `{}`)}},
				standin.Reply{Blocks: []standin.Block{standin.Text("Done.")}},
			)}
			target := server(t, s, id)
			req := &model.Request{System: "s", Effort: "high", Tools: []model.Tool{{Name: "read"}}, Messages: []model.Message{model.NewMessage(model.User, "go")}}
			reply, _, err := send(t, req, target)
			if err != nil {
				t.Fatal(err)
			}
			step(req, reply)
			change(req)
			target.Encoded = nil
			var failed *model.Error
			_, _, err = send(t, req, target)
			if is := errors.As(err, &failed) && failed.Kind == model.ErrState; is != refused || !refused && err != nil {
				t.Errorf("%s, changed %s: %v", id, name, err)
			}
		}
	}
}

// TestWhatComesBack checks the ends of replies over HTTP.
func TestWhatComesBack(t *testing.T) {
	t.Parallel()
	said := []standin.Block{standin.Text("Some text.")}
	for name, tc := range map[string]struct {
		reply  standin.Reply
		finish model.Finish
		kind   model.ErrorKind
	}{
		"pause":      {standin.Reply{Blocks: []standin.Block{{"type": "server_tool_use", "id": "srv", "name": "web_search", "input": json.RawMessage("{}")}}, Stop: "pause_turn"}, model.FinishPause, ""},
		"refusal":    {standin.Reply{Stop: "refusal", Refusal: "Not this."}, model.FinishRefusal, ""},
		"limit":      {standin.Reply{Blocks: said, Stop: "max_tokens"}, model.FinishLength, ""},
		"window":     {standin.Reply{Blocks: said, Stop: "model_context_window_exceeded"}, "", model.ErrOverflow},
		"rate limit": {standin.Reply{Status: 429, Error: "rate_limit_error", Text: "Slow down", Header: map[string][]string{"Retry-After": {"7"}}}, "", model.ErrBusy},
		"overloaded": {standin.Reply{Blocks: said, Error: "overloaded_error", Text: "Overloaded"}, "", model.ErrBusy},
		"overflow":   {standin.Reply{Status: 400, Error: "invalid_request_error", Text: "prompt is too long: 9 tokens > 8 maximum"}, "", model.ErrOverflow},
	} {
		reply, last, err := send(t, &model.Request{Messages: []model.Message{model.NewMessage(model.User, "go")}}, server(t, &standin.Server{Next: standin.Script(tc.reply)}, "claude-opus-5-5"))
		var failed *model.Error
		if errors.As(err, &failed) != (tc.kind != "") || failed != nil && failed.Kind != tc.kind {
			t.Errorf("%s: %v", name, err)
		}
		if tc.finish != "" && (last.Finish != tc.finish || last.Refusal != tc.reply.Refusal) {
			t.Errorf("%s: %+v, %v", name, last, err)
		}
		if tc.kind == model.ErrBusy && tc.reply.Status == 429 && failed.RetryAfter.Seconds() != 7 {
			t.Errorf("%s: %v", name, failed.RetryAfter)
		}
		if name == "pause" {
			if p := reply.Parts(); len(p) != 1 || p[0].State == nil {
				t.Errorf("the paused reply has %+v", show(p))
			}
		}
	}
}

// TestAdaptation plays requests against servers without newer features, until the requests are
// accepted.
func TestAdaptation(t *testing.T) {
	t.Parallel()
	s := &standin.Server{Next: standin.Script(standin.Reply{Blocks: []standin.Block{standin.Text("Done.")}})}
	target := server(t, s, "claude-atlas") // an unknown model; the server treats it as an older model
	req := &model.Request{Effort: "high", Messages: []model.Message{model.NewMessage(model.User, "go")}}
	for n := 0; ; n++ {
		_, _, err := send(t, req, target)
		if err == nil {
			break
		}
		var failed *model.Error
		if !errors.As(err, &failed) || n > 3 || !(messages.API{}).Adapt(req, target, failed) {
			t.Fatalf("try %d: %v", n, err)
		}
		target.Encoded = &api.Cached{}
	}
}

// TestMissingThinking checks that the stand-in refuses a response with a part of its thinking
// missing.
func TestMissingThinking(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"claude-opus-5-5", "claude-sonnet-4-5"} {
		s := &standin.Server{Next: standin.Script(
			standin.Reply{Blocks: []standin.Block{standin.Thinking("Hm."), standin.Redacted(), standin.Call("toolu_1", "read", `{}`)}},
		)}
		target := server(t, s, id)
		req := &model.Request{Effort: "high", Tools: []model.Tool{{Name: "read"}}, Messages: []model.Message{model.NewMessage(model.User, "go")}}
		reply, _, err := send(t, req, target)
		if err != nil {
			t.Fatal(err)
		}
		step(req, reply)
		parts := reply.Parts()
		req.Messages[1].Parts = append(parts[:1:1], parts[2:]...)
		var failed *model.Error
		if _, _, err := send(t, req, target); !errors.As(err, &failed) || failed.Kind != model.ErrState || !strings.Contains(failed.Message, "cannot be modified") {
			t.Errorf("%s: %v", id, err)
		}
	}
}
