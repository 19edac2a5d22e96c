package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
)

// claude simulates Claude through OpenRouter. It rejects the same marks as Anthropic, and
// caches the prefix up to each mark.
type claude struct {
	modeltest.Recorder
	t      *testing.T
	cached map[string]int // tokens of a prefix, by its text
	shares []int          // the cached tokens of each request, in percent
}

var markText = regexp.MustCompile(`,"cache_control":\{"type":"ephemeral"\}`)

func (c *claude) check(body []byte) (read, total int, err error) {
	var r struct {
		Tools    json.RawMessage
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCalls  json.RawMessage `json:"tool_calls"`
			ToolCallID string          `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return 0, 0, err
	}
	prefix, marks := string(r.Tools), 0
	var ends []string
	for i, m := range r.Messages {
		var blocks []map[string]json.RawMessage
		if json.Unmarshal(m.Content, &blocks) != nil {
			if bytes.Contains(m.Content, []byte("cache_control")) {
				return 0, 0, fmt.Errorf("messages.%d: cache_control outside of a block", i)
			}
			prefix += m.Role + string(m.Content) + string(m.ToolCalls)
			continue
		}
		if m.Role == "assistant" && strings.Contains(string(m.Content), "cache_control") {
			return 0, 0, fmt.Errorf("messages.%d: a mark on a reply", i)
		}
		for _, b := range blocks {
			mark := b["cache_control"]
			delete(b, "cache_control")
			text, _ := json.Marshal(b)
			prefix += m.Role + m.ToolCallID + string(text)
			if string(b["type"]) == `"text"` && (len(b["text"]) <= 2) {
				return 0, 0, fmt.Errorf("messages.%d: text content blocks must be non-empty", i)
			}
			if mark == nil {
				continue
			}
			if string(mark) != `{"type":"ephemeral"}` {
				return 0, 0, fmt.Errorf("messages.%d: cache_control %s is not known", i, mark)
			}
			marks++
			ends = append(ends, prefix)
		}
	}
	if marks > 4 {
		return 0, 0, fmt.Errorf("a maximum of 4 blocks with cache_control may be provided. Found %d", marks)
	}
	if marks == 0 || marks > 3 {
		c.t.Errorf("%d marks", marks)
	}
	for _, end := range ends {
		if n, ok := c.cached[end]; ok {
			read = n
		}
	}
	for _, end := range ends {
		c.cached[end] = len(end)
	}
	return read, len(prefix), nil
}

func (c *claude) reply(_ int, body []byte, w http.ResponseWriter) {
	if len(body) == 0 { // a request for metadata
		http.NotFound(w, nil)
		return
	}
	read, total, err := c.check(body)
	if err != nil {
		c.t.Error(err)
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q,"code":400}}`, err), http.StatusBadRequest)
		return
	}
	c.shares = append(c.shares, read*100/total)
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":%d}}}\n\ndata: [DONE]\n\n", total, read)
}

// TestCacheMarks checks Claude models through OpenRouter. They get at most three marks. Each
// request reads the whole previous request from the cache, and repeats its bytes but for the
// marks.
func TestCacheMarks(t *testing.T) {
	t.Parallel()
	c := &claude{t: t, cached: map[string]int{}}
	c.Answer = c.reply
	m := modeltest.Serve(t, c.ServeHTTP, as("openrouter"), func(o *client.Config) { o.Endpoints[0].Model = "anthropic/claude-sonnet-4.5" })
	req := &model.Request{System: strings.Repeat("You are it. ", 200), Tools: []model.Tool{{Name: "todo"}}}
	n := 0
	for turn := range 20 {
		steps := []model.Message{model.NewMessage(model.User, fmt.Sprint("prompt ", turn))}
		if turn == 3 {
			steps = []model.Message{model.NewMessage(model.User, "", model.ImagePart(model.Image{MIMEType: "image/png", Data: "aGk="}))}
		}
		for call := range 3 {
			id := fmt.Sprintf("%d-%d", turn, call)
			steps = append(steps, model.ResponseMessage("", "", model.Call{ID: id, Name: "todo", Args: "{}"}, model.Call{ID: id + "b", Name: "todo", Args: "{}"}),
				model.ResultMessage(id, "todo", `{"todos":[]}`), model.ResultMessage(id+"b", "todo", map[bool]string{true: "", false: `{"note":"<&>"}`}[call == 1]))
		}
		steps = append(steps, model.ResponseMessage("", "Done."))
		for i, msg := range steps {
			req.Messages = append(req.Messages, msg)
			if i+1 < len(steps) && steps[i+1].Role == model.ToolRole || msg.Role == model.Assistant {
				continue
			}
			n++
			if _, _, err := modeltest.Ask(t.Context(), m, req); err != nil {
				t.Fatal(err)
			}
		}
	}
	bodies := c.Prompts()
	if len(bodies) != n {
		t.Fatalf("%d requests, want %d", len(bodies), n)
	}
	for i, body := range bodies[1:] {
		now, before := markText.ReplaceAll(body, nil), markText.ReplaceAll(bodies[i], nil)
		if !bytes.HasPrefix(now, bytes.TrimSuffix(before, []byte("]}"))) {
			t.Fatalf("request %d does not extend the one before:\n%s\n%s", i+2, before, now)
		}
		if share := c.shares[i+1]; share < 80 {
			t.Errorf("request %d reads %d %% from the cache", i+2, share)
		}
	}
}

// TestNoCacheMarks checks other models and providers. They get no marks. If an endpoint rejects
// the marks, the request is repeated without them.
func TestNoCacheMarks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ provider, model string }{{"openrouter", "openai/gpt-5"}, {"openai", "claude"}, {"custom", "anthropic/claude-sonnet-4.5"}} {
		rec := &modeltest.Recorder{}
		m := modeltest.Serve(t, rec.ServeHTTP, as(tt.provider), func(o *client.Config) { o.Endpoints[0].Model = tt.model })
		if _, _, err := modeltest.Ask(t.Context(), m, &model.Request{System: "s", Messages: []model.Message{model.NewMessage(model.User, "u")}}); err != nil {
			t.Fatal(err)
		}
		if body := rec.Prompts()[0]; bytes.Contains(body, []byte("cache_control")) || !bytes.Contains(body, []byte(`"content":"u"`)) {
			t.Errorf("%+v: %s", tt, body)
		}
	}
	rec := &modeltest.Recorder{}
	rec.Answer = func(_ int, body []byte, w http.ResponseWriter) {
		if bytes.Contains(body, []byte("cache_control")) {
			http.Error(w, `{"error":{"message":"Unknown field cache_control","code":400}}`, http.StatusBadRequest)
			return
		}
		io.WriteString(w, modeltest.Fine)
	}
	m := modeltest.Serve(t, rec.ServeHTTP, as("openrouter"), func(o *client.Config) { o.Endpoints[0].Model = "anthropic/claude-sonnet-4.5" })
	for range 2 {
		if _, _, err := modeltest.Ask(t.Context(), m, &model.Request{System: "s", Messages: []model.Message{model.NewMessage(model.User, "u")}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(rec.Prompts()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}
