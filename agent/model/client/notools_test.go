package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/memhttp"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
)

// slot is a llama.cpp server with a template. It plays texts and stores the bodies.
type slot struct {
	props string
	mu    sync.Mutex
	texts []string
	all   []string
}

func (s *slot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == "/props":
		fmt.Fprint(w, s.props)
	case strings.HasSuffix(r.URL.Path, "/models"):
		fmt.Fprint(w, `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":8192,"n_ctx_train":32768}}]}`)
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		body, _ := io.ReadAll(r.Body)
		s.all = append(s.all, string(body))
		text, _ := json.Marshal(s.texts[0])
		s.texts = s.texts[1:]
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
	default:
		http.NotFound(w, r)
	}
}

// propsOf returns the properties of a server of llama.cpp with a chat template.
func propsOf(template string, tools bool) string {
	quoted, _ := json.Marshal(template)
	return fmt.Sprintf(`{"default_generation_settings":{"n_ctx":8192},"total_slots":1,"chat_template":%s,"chat_template_caps":{"supports_tools":%t,"supports_tool_calls":%t}}`, quoted, tools, tools)
}

func serveSlot(t *testing.T, s *slot, change func(*client.Endpoint)) *client.Model {
	t.Helper()
	transport := memhttp.Transport(s)
	e := client.Endpoint{API: openai.API{}, Provider: "custom", Transport: transport, BaseURL: "http://127.0.0.1/v1", Model: "m"}
	if change != nil {
		change(&e)
	}
	m := client.New(client.Config{Endpoints: []client.Endpoint{e}})
	t.Cleanup(m.Close)
	return m
}

// TestTemplateWithoutTools checks a server whose template leaves tools out. Tools, calls and
// results become text, each request extends the previous request, and the session gets a single
// notice.
func TestTemplateWithoutTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const plain = "{% for m in messages %}{{ m.role + m.content }}{% endfor %}"
		const calls = "I read both.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n" +
			"<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"b\"}}\n</tool_call>"
		s := &slot{props: propsOf(plain, false), texts: []string{calls, "They are equal."}}
		m := serveSlot(t, s, nil)
		m.Prepare(t.Context())
		request := &model.Request{SessionID: "s", System: "You help.", Tools: []model.Tool{{Name: "read_file", Description: "Reads.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}}
		request.Messages = []model.Message{model.NewMessage(model.User, "Compare a and b.")}
		ask := func() (r *model.Reply, notices []string) {
			r = new(model.Reply)
			for d, err := range m.Stream(t.Context(), request) {
				if err != nil {
					t.Fatal(err)
				}
				if d.Notice != "" && d.Lasting {
					notices = append(notices, d.Notice)
				}
				if err := r.Add(d); err != nil {
					t.Fatal(err)
				}
			}
			return r, notices
		}
		first, notices := ask()
		if len(first.Calls) != 2 || first.Text != "I read both.\n" || first.Finish != model.FinishCalls {
			t.Fatalf("%+v", first)
		}
		if len(notices) != 1 || !strings.Contains(notices[0], "--jinja") {
			t.Errorf("notices: %q", notices)
		}
		request.Messages = append(request.Messages, model.ResponseMessage("", first.Text, first.Calls...))
		for _, c := range first.Calls {
			request.Messages = append(request.Messages, model.ResultMessage(c.ID, c.Name, `{"content":"x </tool_response> y"}`))
		}
		if r, notices := ask(); r.Text != "They are equal." || len(r.Calls) > 0 || len(notices) > 0 {
			t.Errorf("%+v, %q", r, notices)
		}
		for _, body := range s.all {
			for _, native := range []string{`"tools":`, `"tool_calls":`, `"role":"tool"`, `"tool_choice"`} {
				if strings.Contains(body, native) {
					t.Errorf("%s is in %s", native, body)
				}
			}
		}
		var sent struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal([]byte(s.all[1]), &sent); err != nil {
			t.Fatal(err)
		}
		var roles []string
		for _, m := range sent.Messages {
			roles = append(roles, m.Role)
		}
		if strings.Join(roles, " ") != "system user assistant user" {
			t.Fatalf("%q", roles)
		}
		for i, want := range map[int][]string{
			0: {"You help.", `"name":"read_file"`, "<tool_call>"},
			2: {calls},
			3: {"<tool_response>\n{\"content\":\"x <\\/tool_response> y\"}\n</tool_response>\n\n<tool_response>"},
		} {
			for _, part := range want {
				if !strings.Contains(sent.Messages[i].Content, part) {
					t.Errorf("message %d: %q is not in %q", i, part, sent.Messages[i].Content)
				}
			}
		}
		if n := len(s.all[0]) - len(`]}`); s.all[0][:n] != s.all[1][:n] {
			t.Errorf("the second request does not extend the first:\n%s\n%s", s.all[0], s.all[1])
		}
	})
}

// TestWithoutToolsElsewhere checks the notice about lost tools if they cannot be sent as text.
func TestWithoutToolsElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for want, change := range map[string]func(*client.Endpoint){
			"model.text_calls: auto": func(e *client.Endpoint) { e.TextCalls = "never" },
			"Set the api to chat":    func(e *client.Endpoint) { e.API = responses.API{} },
		} {
			s := &slot{props: propsOf("", false), texts: []string{"Hi."}}
			m := serveSlot(t, s, change)
			m.Prepare(t.Context())
			if got := m.Tells(); !strings.Contains(got, want) {
				t.Errorf("%q is not in %q", want, got)
			}
		}
	})
}

// Ends of chat templates of families of models.
const (
	thinkingEnd = "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n<think>\\n' }}\n{%- endif %}"
	optionalEnd = "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n    {%- if enable_thinking is defined and enable_thinking is false %}\n        {{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- endif %}\n{%- endif %}"
	eitherEnd   = "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n    {%- if enable_thinking is defined and enable_thinking is false %}\n        {{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- else %}\n        {{- '<think>\\n' }}\n    {%- endif %}\n{%- endif %}"
	distillEnd  = "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{{'<think>'}}{% if add_generation_prompt and not ns.is_tool %}{{'<｜Assistant｜><think>\n'}}{% endif %}"
	plainEnd    = "{{ '<think>' + m.reasoning + '</think>' }}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

// TestTemplateOpensThought checks responses if the server's template opens the thought. No
// thought is shown as text, not even in the first response.
func TestTemplateOpensThought(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for template, opens := range map[string]bool{thinkingEnd: true, optionalEnd: false, eitherEnd: true, distillEnd: true, plainEnd: false, "": false} {
			s := &slot{props: propsOf(template, true), texts: []string{"Lists need brackets.\n</think>\n\nHello"}}
			m := serveSlot(t, s, nil)
			m.Prepare(t.Context())
			shown := ""
			for d, err := range m.Stream(t.Context(), &model.Request{Messages: []model.Message{model.NewMessage(model.User, "x")}}) {
				if err != nil {
					t.Fatal(err)
				}
				shown += d.Text
			}
			if (shown == "Hello") != opens {
				t.Errorf("%s: %q was shown as text", template, shown)
			}
		}
	})
}
