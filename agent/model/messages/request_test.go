package messages_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
)

func body(t *testing.T, req *model.Request, target *api.Target) string {
	t.Helper()
	encoded, err := messages.API{}.Encode(req, target)
	if err != nil {
		t.Fatal(err)
	}
	text := string(encoded.Body.Bytes())
	if !json.Valid([]byte(text)) {
		t.Fatalf("not JSON: %s", text)
	}
	return text
}

// field returns a field of the body of a request.
func field(t *testing.T, req *model.Request, target *api.Target, name string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body(t, req, target)), &fields); err != nil {
		t.Fatal(err)
	}
	return string(fields[name])
}

func prompt(text string, more ...model.Part) model.Message {
	return model.NewMessage(model.User, text, more...)
}

func at(id string, change ...func(*api.Target)) *api.Target {
	t := &api.Target{Host: "api.anthropic.com", API: api.Messages, BaseURL: "https://api.anthropic.com", Model: id, Key: "k"}
	for _, c := range change {
		c(t)
	}
	return t
}

func noMarks(t *api.Target) { t.Cache.Off = true }

const opus = "claude-opus-5-5"

func TestRequest(t *testing.T) {
	t.Parallel()
	req := &model.Request{
		System: "Be <brief>.",
		Tools: []model.Tool{{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
			{Name: "now"}, {Name: "either", Schema: json.RawMessage(`{"anyOf":[{}],"properties":{}}`)}},
		Messages: []model.Message{prompt("hi")}, NoCalls: true, Effort: "high",
	}
	got := body(t, req, at(opus, func(t *api.Target) {
		t.ServiceTier = "auto"
		t.Extra = []api.Field{{Name: "max_tokens", Value: json.RawMessage("9")}, {Name: "metadata", Value: json.RawMessage(`{"user_id":"u"}`)}}
	}))
	want := `{"model":"claude-opus-5-5","max_tokens":9,"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},"service_tier":"auto","metadata":{"user_id":"u"},` +
		`"tools":[{"name":"read","description":"Reads.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"eager_input_streaming":true},` +
		`{"name":"now","input_schema":{"type":"object","properties":{}},"eager_input_streaming":true},` +
		`{"name":"either","input_schema":{"properties":{},"type":"object"},"eager_input_streaming":true}],` +
		`"system":[{"type":"text","text":"Be <brief>.","cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"tool_choice":{"type":"none"}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAddressAndHeaders(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.anthropic.com":        "https://api.anthropic.com/v1/messages",
		"https://api.anthropic.com/v1/":    "https://api.anthropic.com/v1/messages",
		"https://api.minimax.io/anthropic": "https://api.minimax.io/anthropic/v1/messages",
		"https://api.kimi.com/coding":      "https://api.kimi.com/coding/v1/messages",
	} {
		encoded, err := messages.API{}.Encode(&model.Request{Messages: []model.Message{prompt("x")}}, at(opus, func(t *api.Target) { t.BaseURL = base }))
		if err != nil || encoded.URL != want {
			t.Errorf("%s: %s, %v", base, encoded.URL, err)
		}
		for name, value := range map[string]string{"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json", "anthropic-beta": "", "authorization": ""} {
			if got := encoded.Header.Get(name); got != value {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	encoded, err := messages.API{}.Encode(&model.Request{Messages: []model.Message{prompt("x")}, Effort: "low"}, at("claude-sonnet-4-5"))
	if err != nil || encoded.Header.Get("anthropic-beta") != "interleaved-thinking-2025-05-14" {
		t.Errorf("%v, %v", encoded.Header, err)
	}
}

// TestMessages checks the conversion of the history to messages.
func TestMessages(t *testing.T) {
	t.Parallel()
	result := func(id, text string, more ...model.Part) model.Message {
		m := model.ResultMessage(id, "read", text)
		m.Parts = append(m.Parts, more...)
		return m
	}
	thought := func(data string) model.Part {
		return model.Part{Type: model.ReasoningType, Text: "shown", State: state(data)}
	}
	calls := func(calls ...model.Call) model.Message { return model.ResponseMessage("", "", calls...) }
	png := model.Image{Name: "a.png", MIMEType: "image/png", Data: "iVBORw0KGgo="}
	file := func(name, kind, data string) model.Part {
		return model.Part{Type: model.FileType, Image: model.Image{Name: name, MIMEType: kind, Data: base64.StdEncoding.EncodeToString([]byte(data))}}
	}
	a, b := model.Call{ID: "a", Name: "read", Args: `{"path": "1"}`}, model.Call{ID: "b", Name: "read", Args: "  "}
	const pngBlock = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}`
	const callA, callB = `{"type":"tool_use","id":"a","name":"read","input":{"path": "1"}}`, `{"type":"tool_use","id":"b","name":"read","input":{}}`
	text := func(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }
	user := func(blocks ...string) string { return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}` }
	assistant := func(blocks ...string) string {
		return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
	}
	answer := func(id string, blocks ...string) string {
		if len(blocks) == 0 {
			return `{"type":"tool_result","tool_use_id":"` + id + `"}`
		}
		return `{"type":"tool_result","tool_use_id":"` + id + `","content":[` + strings.Join(blocks, ",") + `]}`
	}
	for name, tc := range map[string]struct {
		history []model.Message
		want    []string
	}{
		"adjacent prompts are one message": {[]model.Message{prompt("1"), prompt("2"), prompt(" \n")}, []string{user(text("1"), text("2"))}},
		"results stand before a prompt": {[]model.Message{prompt("p"), calls(a, b), result("a", "r"), prompt("steer"), result("b", "")},
			[]string{user(text("p")), assistant(callA, callB), user(answer("a", text("r")), answer("b"), text("steer"))}},
		"images and files are in the result": {[]model.Message{prompt("p", model.ImagePart(png)), calls(a), result("a", "r", model.ImagePart(png), file("d.pdf", "application/pdf", "%PDF"), file("n.txt", "text/plain; charset=utf-8", "note"), file("z.zip", "application/zip", "PK"))},
			[]string{user(text("p"), pngBlock), assistant(callA), user(answer("a", text("r"), pngBlock,
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="},"title":"d.pdf"}`,
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"note"},"title":"n.txt"}`,
				text("[file z.zip: this model does not read application/zip]")))}},
		"images that the API does not take": {[]model.Message{prompt("", model.ImagePart(model.Image{Name: "x.bmp", MIMEType: "image/bmp", Data: "QQ=="}), model.ImagePart(model.Image{Name: "y.png", MIMEType: "image/png", Data: strings.Repeat("A", 11<<20)}))},
			[]string{user(text("[picture x.bmp: this model does not read image/bmp]"), text("[picture y.png: too large for this model]"))}},
		"thinking is sent back in its place": {[]model.Message{prompt("p"), {Role: model.Assistant, Parts: []model.Part{thought(`{"t":1}`), model.TextPart("x "), thought(`{"t": 2}`), model.CallPart(a)}}, result("a", "r")},
			[]string{user(text("p")), assistant(`{"t":1}`, text("x "), `{"t": 2}`, callA), user(answer("a", text("r")))}},
		"state of others is not": {[]model.Message{prompt("p"), {Role: model.Assistant, Parts: []model.Part{
			{Type: model.ReasoningType, Text: "x", State: &model.State{API: "messages", Host: "other", Data: []byte(`{"t":1}`)}},
			{Type: model.ReasoningType, Text: "x", State: &model.State{API: "responses", Host: "api.anthropic.com", Data: []byte(`{"t":1}`)}},
			{Type: model.ReasoningType, Text: "x"}, model.CallPart(a)}}, result("a", "r")},
			[]string{user(text("p")), assistant(callA), user(answer("a", text("r")))}},
		"thinking at the end of a response is left out": {[]model.Message{prompt("p"), {Role: model.Assistant, Parts: []model.Part{model.TextPart("x"), thought(`{"type":"thinking"}`), model.TextPart(" ")}}, prompt("q")},
			[]string{user(text("p")), assistant(text("x")), user(text("q"))}},
		"a response of nothing but thinking is left out": {[]model.Message{prompt("p"), {Role: model.Assistant, Parts: []model.Part{thought(`{"type":"redacted_thinking"}`)}}, prompt("q")},
			[]string{user(text("p"), text("q"))}},
		"a block of another version stays at the end": {[]model.Message{prompt("p"), {Role: model.Assistant, Parts: []model.Part{thought(`{"type":"server_tool_use"}`)}}},
			[]string{user(text("p")), assistant(`{"type":"server_tool_use"}`)}},
		"a call keeps the name that the model wrote": {[]model.Message{prompt("p"), {Role: model.Assistant, Parts: []model.Part{{Type: model.CallType, Call: a, State: state(`{"type":"tool_use","id":"a","name":"Read"}`)}}}, result("a", "r")},
			[]string{user(text("p")), assistant(`{"type":"tool_use","id":"a","name":"Read"}`), user(answer("a", text("r")))}},
		"foreign ids and arguments": {[]model.Message{prompt("p"), calls(model.Call{ID: "functions.read:0", Name: "read", Args: `{"a`}, model.Call{ID: "c", Name: "read", Args: "[1]"}), result("functions.read:0", "r"), result("c", "s")},
			[]string{user(text("p")), assistant(`{"type":"tool_use","id":"functions_read_0_c216cab2","name":"read","input":{"invalid_json":"{\"a"}}`, `{"type":"tool_use","id":"c","name":"read","input":{"invalid_json":"[1]"}}`),
				user(answer("functions_read_0_c216cab2", text("r")), answer("c", text("s")))}},
		"the last message does not end with spaces": {[]model.Message{prompt("p "), model.ResponseMessage("", "so \n")}, []string{user(text("p ")), assistant(text("so"))}},
		"other responses may":                       {[]model.Message{prompt("p"), model.ResponseMessage("", "so \n"), prompt("q")}, []string{user(text("p")), assistant(`{"type":"text","text":"so \n"}`), user(text("q"))}},
		"bytes that are no text":                    {[]model.Message{prompt("a\xffb\x00\"\\\t\u2028é")}, []string{user(`{"type":"text","text":"a\ufffdb\u0000\"\\\t` + "\u2028é" + `"}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &model.Request{Messages: tc.history}
			want := "[" + strings.Join(tc.want, ",") + "]"
			for _, cached := range []*api.Cached{nil, {}} {
				target := at(opus, noMarks, func(t *api.Target) { t.Encoded = cached })
				for range 2 {
					if got := field(t, req, target, "messages"); got != want {
						t.Fatalf("got  %.3000s\nwant %.3000s", got, want)
					}
				}
			}
		})
	}
}

func TestRefusedStateIsNotSent(t *testing.T) {
	t.Parallel()
	req := &model.Request{Messages: []model.Message{prompt("p"), {Role: model.Assistant, Parts: []model.Part{{Type: model.ReasoningType, State: state(`{"t":1}`)}, model.TextPart("x")}}, prompt("q")}}
	target := at(opus, func(t *api.Target) { t.Encoded = &api.Cached{} })
	if got := field(t, req, target, "messages"); !strings.Contains(got, `{"t":1}`) {
		t.Errorf("got %s", got)
	}
	target.NoState, target.Encoded = true, &api.Cached{}
	if got := field(t, req, target, "messages"); strings.Contains(got, `{"t":1}`) {
		t.Errorf("got %s", got)
	}
}

func TestImagesAsText(t *testing.T) {
	t.Parallel()
	req := &model.Request{Messages: []model.Message{prompt("p", model.ImagePart(model.Image{Name: "a.png", MIMEType: "image/png", Data: "QQ=="}))}}
	got := field(t, req, at(opus, func(t *api.Target) { t.Images = map[int]model.PictureForm{0: model.AsText} }), "messages")
	if !strings.Contains(got, "[picture a.png: this model does not see pictures]") || strings.Contains(got, "base64") {
		t.Errorf("got %s", got)
	}
}

var mark = regexp.MustCompile(`,"cache_control":\{"type":"ephemeral"(,"ttl":"1h")?\}`)

// TestMarks checks the cache marks of blocks. Apart from them, a request extends the previous
// request.
func TestMarks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 300)
	history := []model.Message{prompt("p1" + long)}
	for i := range 30 {
		id := fmt.Sprint("c", i)
		history = append(history, model.ResponseMessage("", "t"+long, model.Call{ID: id, Name: "read"}), model.ResultMessage(id, "read", "r"+id+long))
		if i%7 == 0 {
			history = append(history, prompt("steer"+id))
		}
	}
	for _, mode := range []api.Cache{{}, {Long: true}, {Off: true}, {Off: true, Long: true}} {
		target := at(opus, func(t *api.Target) { t.Cache, t.Encoded = mode, &api.Cached{} })
		previous := ""
		for n := 1; n <= len(history); n += 2 {
			if history[n-1].Role == model.Assistant {
				n++
			}
			req := &model.Request{System: "s", Tools: []model.Tool{{Name: "read"}}, Messages: history[:n:n]}
			got := body(t, req, target)
			found := mark.FindAllString(got, -1)
			want := []string{`,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral"}`}
			if n == 1 {
				want = want[:2]
			}
			if mode.Long {
				want[0] = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
			}
			if mode.Off {
				want = nil
			}
			if !slices.Equal(found, want) {
				t.Fatalf("%+v: request %d has the marks %q", mode, n, found)
			}
			if !mode.Off && !strings.HasSuffix(got, `,"cache_control":{"type":"ephemeral"}}]}]}`) {
				t.Fatalf("request %d ends with %q", n, got[len(got)-100:])
			}
			plain := strings.TrimSuffix(mark.ReplaceAllString(got, ""), "]}]}")
			if !strings.HasPrefix(plain, previous) {
				t.Fatalf("request %d does not extend the previous one", n)
			}
			previous = plain
		}
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ id, effort, thinking, output string }{
		{"claude-opus-5-5", "", `{"type":"adaptive","display":"summarized"}`, ""},
		{"claude-opus-5-5", "default", `{"type":"adaptive","display":"summarized"}`, ""},
		{"claude-opus-5-5", "none", `{"type":"adaptive","display":"summarized"}`, `{"effort":"low"}`},
		{"claude-opus-5-5", "xhigh", `{"type":"adaptive","display":"summarized"}`, `{"effort":"xhigh"}`},
		{"claude-fable-5", "none", `{"type":"adaptive","display":"summarized"}`, `{"effort":"low"}`},
		{"claude-opus-5", "none", `{"type":"disabled"}`, ""},
		{"claude-opus-5", "minimal", `{"type":"adaptive","display":"summarized"}`, `{"effort":"low"}`},
		{"us.anthropic.claude-opus-4-6-v1", "xhigh", `{"type":"adaptive","display":"summarized"}`, `{"effort":"high"}`},
		{"claude-sonnet-4-6", "max", `{"type":"adaptive","display":"summarized"}`, `{"effort":"max"}`},
		{"claude-haiku-4-5-20251001", "low", `{"type":"enabled","budget_tokens":4096}`, ""},
		{"claude-sonnet-4-5", "max", `{"type":"enabled","budget_tokens":30720}`, ""},
		{"claude-sonnet-4-20250514", "high", `{"type":"enabled","budget_tokens":20480}`, ""},
		{"anthropic.claude-3-7-sonnet-20250219-v1:0", "medium", `{"type":"enabled","budget_tokens":10240}`, ""},
		{"claude-3-7-sonnet-latest", "", "", ""},
		{"claude-sonnet-4-5", "none", "", ""},
		{"claude-3-5-haiku-20241022", "high", "", ""},
		{"MiniMax-M2.5", "", "", ""},
		{"MiniMax-M2.5", "high", `{"type":"enabled","budget_tokens":20480}`, ""},
		{"kimi-k2", "none", `{"type":"disabled"}`, ""},
	} {
		req := &model.Request{Messages: []model.Message{prompt("x")}, Effort: tc.effort}
		if got := field(t, req, at(tc.id), "thinking"); got != tc.thinking {
			t.Errorf("%s %s: %s", tc.id, tc.effort, got)
		}
		if got := field(t, req, at(tc.id), "output_config"); got != tc.output {
			t.Errorf("%s %s: %s", tc.id, tc.effort, got)
		}
	}
}

// TestBudget checks the budget: it is below the limit of the response.
func TestBudget(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]string{0: `{"type":"enabled","budget_tokens":20480}`, 20480: `{"type":"enabled","budget_tokens":10240}`, 4096: `{"type":"enabled","budget_tokens":2048}`, 2000: ""} {
		req := &model.Request{Messages: []model.Message{prompt("x")}, Effort: "high", MaxTokens: limit}
		if got := field(t, req, at("claude-sonnet-4-5"), "thinking"); got != want {
			t.Errorf("limit %d: %s", limit, got)
		}
	}
}

// TestBudgetWithinATurn continues another model's turn with a model with a budget. It must not
// think within the turn: the API rejects this.
func TestBudgetWithinATurn(t *testing.T) {
	t.Parallel()
	call, result := model.CallPart(model.Call{ID: "a", Name: "read"}), model.ResultMessage("a", "read", "r")
	own := model.Part{Type: model.ReasoningType, State: state(`{"type":"thinking"}`)}
	foreign := model.Message{Role: model.Assistant, Parts: []model.Part{model.ReasoningPart("x"), call}}
	for name, tc := range map[string]struct {
		history []model.Message
		thinks  bool
	}{
		"own":              {[]model.Message{prompt("p"), {Role: model.Assistant, Parts: []model.Part{own, call}}, result}, true},
		"foreign":          {[]model.Message{prompt("p"), foreign, result}, false},
		"an earlier turn":  {[]model.Message{prompt("p"), foreign, result, model.ResponseMessage("", "done"), prompt("q")}, true},
		"own second reply": {[]model.Message{prompt("p"), foreign, result, {Role: model.Assistant, Parts: []model.Part{own, model.CallPart(model.Call{ID: "b", Name: "read"})}}, model.ResultMessage("b", "read", "r")}, false},
	} {
		got := field(t, &model.Request{Messages: tc.history, Effort: "high"}, at("claude-sonnet-4-5"), "thinking")
		if (got != "") != tc.thinks {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id           string
		own, request int
		want         string
	}{
		{opus, 0, 0, "32000"}, {opus, 16000, 0, "16000"}, {opus, 0, 500, "500"}, {opus, 16000, 64000, "16000"},
		{"claude-3-5-sonnet-20241022", 0, 0, "8192"}, {"claude-3-opus-20240229", 0, 0, "4096"}, {"MiniMax-M2", 0, 0, "32000"},
	} {
		req := &model.Request{Messages: []model.Message{prompt("x")}, MaxTokens: tc.request}
		if got := field(t, req, at(tc.id, func(t *api.Target) { t.MaxTokens = tc.own }), "max_tokens"); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status     int
		kind, text string
		want       model.ErrorKind
	}{
		{0, "overloaded_error", "Overloaded", model.ErrBusy},
		{0, "rate_limit_error", "Slow down", model.ErrBusy},
		{0, "api_error", "Internal server error", model.ErrServer},
		{0, "timeout_error", "Timed out", model.ErrServer},
		{0, "billing_error", "Pay", model.ErrCredit},
		{0, "authentication_error", "invalid x-api-key", model.ErrAuth},
		{0, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", model.ErrOverflow},
		{529, "overloaded_error", "Overloaded", model.ErrBusy},
		{429, "rate_limit_error", "This request would exceed your account's rate limit", model.ErrBusy},
		{402, "billing_error", "Pay", model.ErrCredit},
		{401, "authentication_error", "invalid x-api-key", model.ErrAuth},
		{403, "permission_error", "Your API key does not have permission", model.ErrAuth},
		{404, "not_found_error", "model: claude-x", model.ErrModel},
		{413, "request_too_large", "Request exceeds the maximum size", model.ErrOverflow},
		{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", model.ErrOverflow},
		{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", model.ErrOverflow},
		{400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", model.ErrCredit},
		{400, "invalid_request_error", "You have reached your specified API usage limits.", model.ErrCredit},
		{400, "invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block", model.ErrState},
		{400, "invalid_request_error", "messages.5.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.", model.ErrState},
		{400, "invalid_request_error", "messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.", model.ErrState},
		{400, "invalid_request_error", "messages.1.content.0: Invalid `data` in `redacted_thinking` block", model.ErrState},
		{400, "invalid_request_error", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", model.ErrState},
		{400, "invalid_request_error", "`max_tokens` must be greater than `thinking.budget_tokens`.", model.ErrRequest},
		{400, "invalid_request_error", "messages: text content blocks must be non-empty", model.ErrRequest},
	} {
		err := messages.API{}.Classify(tc.status, nil, fmt.Appendf(nil, `{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, tc.kind, tc.text))
		if err.Kind != tc.want || err.Message != tc.text {
			t.Errorf("%d %s %s: %s, %q", tc.status, tc.kind, tc.text, err.Kind, err.Message)
		}
	}
}

// TestAdapt checks the omitted part after a rejection.
func TestAdapt(t *testing.T) {
	t.Parallel()
	tools := []model.Tool{{Name: "read"}}
	for _, tc := range []struct {
		id, text    string
		field, want string // of the next request
	}{
		{opus, "tools.0.custom.eager_input_streaming: Extra inputs are not permitted", "tools", `[{"name":"read","input_schema":{"type":"object","properties":{}}}]`},
		{opus, "thinking.adaptive.display: Extra inputs are not permitted", "thinking", `{"type":"adaptive"}`},
		{opus, "output_config: Extra inputs are not permitted", "output_config", ""},
		{opus, "adaptive thinking is not supported on this model", "thinking", `{"type":"enabled","budget_tokens":4096}`},
		{"claude-opus-5", "tool_choice: Extra inputs are not permitted", "tool_choice", ""},
		{"claude-sonnet-4-5", `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, "thinking", `{"type":"adaptive","display":"summarized"}`},
		{"kimi-k2", "thinking: Extra inputs are not permitted", "thinking", ""},
		{"kimi-k2", "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for kimi-k2", "max_tokens", "8192"},
		{"kimi-k2", "messages.0.content.0.cache_control: Extra inputs are not permitted", "messages", `[{"role":"user","content":[{"type":"text","text":"x"}]}]`},
	} {
		target, req := at(tc.id), &model.Request{Messages: []model.Message{prompt("x")}, Tools: tools, Effort: "low", NoCalls: true}
		failed := &model.Error{Kind: model.ErrRequest, Status: 400, Message: tc.text}
		before := field(t, req, target, tc.field)
		if !(messages.API{}).Adapt(req, target, failed) {
			t.Errorf("%s: nothing changed", tc.text)
			continue
		}
		if got := field(t, req, target, tc.field); got != tc.want || got == before {
			t.Errorf("%s: %s, before %s", tc.text, got, before)
		}
	}
	target, req := at(opus), &model.Request{Messages: []model.Message{prompt("x")}}
	for _, failed := range []*model.Error{
		{Kind: model.ErrRequest, Status: 400, Message: "messages: text content blocks must be non-empty"},
		{Kind: model.ErrAuth, Status: 401, Message: "thinking"}, {Kind: model.ErrRequest, Status: 400, Message: "tool_choice"},
	} {
		if (messages.API{}).Adapt(req, target, failed) {
			t.Errorf("%s changes %b", failed.Message, target.Quirks)
		}
	}
	for n := 0; (messages.API{}).Adapt(req, target, &model.Error{Kind: model.ErrRequest, Status: 400, Message: "thinking adaptive display effort cache_control max_tokens"}); n++ {
		if n > 12 {
			t.Fatal("it does not end")
		}
	}
}
