package responses_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/once"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
	"github.com/hermes-ls/hermes-ls/agent/model/responses/responsestest"
)

const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	read  = "read_file"
)

// bed is a server and a conversation with it.
type bed struct {
	t      *testing.T
	server *responsestest.Server
	target *api.Target
	req    *model.Request
}

func newBed(t *testing.T, replies ...responsestest.Reply) *bed {
	t.Helper()
	s := responsestest.New(replies...)
	s.Keys = []string{"sk-one"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &bed{t: t, server: s,
		target: &api.Target{Provider: "openai", BaseURL: server.URL + "/v1", Host: "api.test", API: api.Responses, Model: "gpt-5", Key: "sk-one", Encoded: new(api.Cached)},
		req: &model.Request{System: "You help. </s> & “more”", SessionID: "0198c0de", Tools: []model.Tool{
			{Name: read, Description: "Reads <a> file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
			{Name: "todo"}}}}
}

// ask appends messages, sends the request, and appends the response.
func (b *bed) ask(messages ...model.Message) *model.Reply {
	b.t.Helper()
	b.req.Messages = append(b.req.Messages, messages...)
	reply, _, err := once.Ask(b.t.Context(), responses.API{}, b.target, b.req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.req.Messages = append(b.req.Messages, model.Message{Role: model.Assistant, Parts: reply.Parts()})
	return reply
}

// fail sends the request and returns its error.
func (b *bed) fail(messages ...model.Message) *model.Error {
	b.t.Helper()
	b.req.Messages = append(b.req.Messages, messages...)
	_, _, err := once.Ask(b.t.Context(), responses.API{}, b.target, b.req)
	var known *model.Error
	if !errors.As(err, &known) {
		b.t.Fatalf("%v is no *model.Error", err)
	}
	return known
}

func user(text string) model.Message { return model.NewMessage(model.User, text) }

// result returns the result of a call.
func result(c model.Call, text string, images ...model.Image) model.Message {
	return model.ResultMessage(c.ID, c.Name, text, images...)
}

// TestConversation plays a conversation with reasoning, parallel calls, images, a phase and an
// unknown item. The strict server accepts it, and each request extends the previous request.
func TestConversation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a long file\n", 600)
	b := newBed(t,
		responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("First the file.\n\nThen the “tests”."), responsestest.Phase("commentary", "I look at \"both\" files. ✓"),
			responsestest.Call(read, `{"path":"a.go"}`), responsestest.Call(read, `{"path":"b.png"}`)}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("Now I know."), responsestest.Call("todo", `{}`)}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Phase("final_answer", "Done.")}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning(""), responsestest.Text("Welcome.")}},
	)
	first := b.ask(model.NewMessage(model.User, "Look.", model.ImagePart(model.Image{MIMEType: "image/png", Data: pixel})))
	if first.Reasoning != "First the file.\n\nThen the “tests”." || first.Text != "I look at \"both\" files. ✓" || len(first.Calls) != 2 || first.Finish != model.FinishCalls {
		t.Fatalf("%+v", first)
	}
	if c := first.Calls[1]; c.Name != read || c.Args != `{"path":"b.png"}` || !strings.HasPrefix(c.ID, "call_") {
		t.Errorf("%+v", c)
	}
	if first.Model != "gpt-5-2026-08-07" || first.Usage.Output == 0 || first.Usage.Reasoning == 0 || first.Usage.Input == 0 {
		t.Errorf("%q %+v", first.Model, first.Usage)
	}
	second := b.ask(result(first.Calls[0], long), result(first.Calls[1], "", model.Image{Name: "b.png", MIMEType: "image/png", Data: pixel}))
	third := b.ask(result(second.Calls[0], ""))
	if third.Text != "Done." || third.Finish != model.FinishStop {
		t.Errorf("%+v", third)
	}
	b.ask(user("Thanks."))

	requests := b.server.Requests()
	if third.Usage.CachedRead < len(long)/4/2 {
		t.Errorf("only %d tokens were read from the cache", third.Usage.CachedRead)
	}
	for i, r := range requests {
		var body struct {
			Input []struct {
				Type, Phase string
			}
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue
		}
		before := requests[i-1].Body
		end := bytes.LastIndex(before, []byte(`],"reasoning"`))
		if end < 0 || !bytes.HasPrefix(r.Body, before[:end]) {
			t.Errorf("request %d does not extend the previous one:\n%s\n%s", i, before, r.Body)
		}
	}
	last := string(requests[3].Body)
	for _, want := range []string{`"phase":"commentary"`, `"phase":"final_answer"`, `"encrypted_content":"gAAAA`, `"id":"fc_`, `"prompt_cache_key":"0198c0de"`,
		`"include":["reasoning.encrypted_content"]`, `"summary":"auto"`, `"include_obfuscation":false`, `Reads <a> file.`} {
		if !strings.Contains(last, want) {
			t.Errorf("%s lacks %s", last, want)
		}
	}
	if n := strings.Count(last, `"type":"reasoning"`); n != 2 {
		t.Errorf("%d reasoning items were sent back, want 2", n)
	}
}

// TestState checks the state of items: the received item, without its status and null members.
func TestState(t *testing.T) {
	t.Parallel()
	item := `{"id":"rs_1", "type":"reasoning","encrypted_content":"gA\u002b\/=","summary":[ {"type":"summary_text","text":"é"} ],"content":null,"status":"completed","later":{"b":1,"a":2.50}}`
	body := `data: {"type":"response.output_item.done","output_index":0,"item":` + item + `}` + "\n\n" +
		`data: {"type":"response.output_item.done","output_index":1,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"So."}]}}` + "\n\n" +
		`data: {"type":"response.completed","response":{}}` + "\n\n"
	target := &api.Target{API: api.Responses, Host: "h"}
	reply, _, err := once.Decode(responses.API{}, target, nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"rs_1","type":"reasoning","encrypted_content":"gA\u002b\/=","summary":[ {"type":"summary_text","text":"é"} ],"later":{"b":1,"a":2.50}}`
	parts := reply.Parts()
	if len(parts) != 2 || string(parts[0].State.Data) != want || parts[0].Text != "é" || parts[1].State != nil || parts[1].Text != "So." {
		t.Fatalf("%+v", parts)
	}
	req := &model.Request{Messages: []model.Message{{Role: model.Assistant, Parts: parts}}}
	for _, c := range []struct {
		target *api.Target
		sent   bool
	}{
		{target, true},
		{&api.Target{API: api.Responses, Host: "other"}, false},
		{&api.Target{API: api.Chat, Host: "h"}, false},
		{&api.Target{API: api.Responses, Host: "h", NoState: true}, false},
	} {
		out, err := responses.API{}.Encode(req, c.target)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out.Body.Bytes()), want) != c.sent {
			t.Errorf("%+v: %s", c.target, out.Body.Bytes())
		}
	}
}

// TestForeignHistory sends a history of another API, without state, and reasoning at the end of
// a cut response. Both are accepted.
func TestForeignHistory(t *testing.T) {
	t.Parallel()
	b := newBed(t, responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("Hm.")}, Incomplete: "max_output_tokens"}, responsestest.Reply{Items: []responsestest.Item{responsestest.Text("Yes.")}})
	calls := []model.Call{{ID: "toolu_1", Name: read, Args: `{"path":"a"}`}, {ID: "toolu_2", Name: read, Args: `{"path":`}, {ID: "toolu_3", Name: "todo"}}
	foreign := model.ResponseMessage("a thought", "I look.", calls...)
	foreign.Parts[0].State = &model.State{API: api.Messages, Host: "api.test", Data: []byte(`{"signature":"x"}`)}
	reply := b.ask(user("Go."), foreign, result(calls[0], "text"), result(calls[1], "not JSON"), result(calls[2], ""),
		model.Message{Role: model.User, Parts: []model.Part{{Type: model.FileType, Image: model.Image{Name: "a.pdf", MIMEType: "application/pdf", Data: "aGk="}}}})
	if reply.Finish != model.FinishLength || reply.Reasoning != "Hm." {
		t.Errorf("%+v", reply)
	}
	b.ask(user("Go on."))
	last := string(b.server.Requests()[1].Body)
	if strings.Contains(last, "a thought") || strings.Contains(last, "signature") || strings.Contains(last, `"type":"reasoning"`) {
		t.Errorf("%s", last)
	}
}

// TestImagesAsText checks a model without image support: it gets text.
func TestImagesAsText(t *testing.T) {
	t.Parallel()
	b := newBed(t, responsestest.Reply{Items: []responsestest.Item{responsestest.Call(read, `{}`)}}, responsestest.Reply{Items: []responsestest.Item{responsestest.Text("A dot.")}})
	b.target.Images = map[int]model.PictureForm{0: model.AsText, 2: model.AsText}
	picture := model.Image{Name: "dot.png", MIMEType: "image/png", Data: pixel}
	reply := b.ask(model.NewMessage(model.User, "See.", model.ImagePart(picture)))
	b.ask(result(reply.Calls[0], "read", picture))
	body := string(b.server.Requests()[1].Body)
	if strings.Contains(body, "input_image") || strings.Count(body, "picture dot.png, 1 × 1") != 2 {
		t.Errorf("%s", body)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	b := newBed(t, responsestest.Reply{}, responsestest.Reply{})
	b.req.MaxTokens, b.req.NoCalls, b.req.Effort, b.target.ServiceTier, b.target.Efforts = 5, true, "high", "flex", []string{"low", "medium"}
	b.target.Extra = []api.Field{{Name: "metadata", Value: json.RawMessage(`{"a":"b"}`)}}
	b.ask(user("x"))
	body := string(b.server.Requests()[0].Body)
	for _, want := range []string{`"max_output_tokens":16`, `"tool_choice":"none"`, `"effort":"medium"`, `"service_tier":"flex"`, `"metadata":{"a":"b"}`, `"store":false`, `"strict":false`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
	azure := *b.target
	azure.Provider, azure.Cache.Off, azure.Encoded = "azure", true, nil
	if _, _, err := once.Ask(t.Context(), responses.API{}, &azure, b.req); err != nil {
		t.Fatal(err)
	}
	r := b.server.Requests()[1]
	if r.Header.Get("Api-Key") != "sk-one" || r.Header.Get("Authorization") != "" || strings.Contains(string(r.Body), "prompt_cache_key") {
		t.Errorf("%v %s", r.Header, r.Body)
	}
}

func TestEffort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, effort string
		levels        []string
		want          string
	}{
		{"gpt-5", "", nil, `{"summary":"auto"}`},
		{"gpt-5", "default", nil, `{"summary":"auto"}`},
		{"gpt-5", "high", nil, `{"effort":"high","summary":"auto"}`},
		{"gpt-5", "max", []string{"minimal", "low", "medium", "high"}, `{"effort":"high","summary":"auto"}`},
		{"o3", "minimal", []string{"low", "medium", "high"}, `{"effort":"low","summary":"auto"}`},
		{"gpt-5.1", "xhigh", []string{"none", "low", "medium", "high"}, `{"effort":"high","summary":"auto"}`},
		{"gpt-5.1", "none", []string{"none", "low"}, `{"effort":"none","summary":"auto"}`},
		{"gpt-4o", "high", nil, ``},
		{"openai/gpt-4.1", "high", nil, ``},
		{"other", "high", []string{}, ``},
	} {
		out, err := responses.API{}.Encode(&model.Request{Effort: c.effort, Messages: []model.Message{user("x")}}, &api.Target{Model: c.model, Efforts: c.levels})
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Reasoning, Include json.RawMessage }
		if err := json.Unmarshal(out.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if string(body.Reasoning) != c.want || (len(body.Include) > 0) != (c.want != "") {
			t.Errorf("%s %q %q: %s %s, want %s", c.model, c.effort, c.levels, body.Reasoning, body.Include, c.want)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com":                    "https://api.openai.com/v1/responses",
		"https://api.openai.com/v1/":                "https://api.openai.com/v1/responses",
		"https://r.openai.azure.com/openai/v1":      "https://r.openai.azure.com/openai/v1/responses",
		"http://127.0.0.1:1234":                     "http://127.0.0.1:1234/v1/responses",
		"https://gateway.test/proxy/openai/account": "https://gateway.test/proxy/openai/account/responses",
	} {
		out, err := responses.API{}.Encode(&model.Request{}, &api.Target{BaseURL: base})
		if err != nil || out.URL != want || out.Method != http.MethodPost {
			t.Errorf("%s: %s %v, want %s", base, out.URL, err, want)
		}
	}
}

// TestAdapt checks parameters rejected by the model: they are omitted, one after the other.
func TestAdapt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*responsestest.Server)
		tries  int
		lacks  []string
	}{
		"no reasoning":   {func(s *responsestest.Server) { s.Levels = nil }, 3, []string{`"include"`, `"summary"`, "effort"}},
		"not verified":   {func(s *responsestest.Server) { s.Unverified = true }, 2, []string{`"summary"`}},
		"unknown effort": {func(s *responsestest.Server) { s.Levels = []string{"low"} }, 2, []string{"effort"}},
	} {
		b := newBed(t, responsestest.Reply{Items: []responsestest.Item{responsestest.Text("ok")}})
		c.change(b.server)
		b.req.Effort, b.req.Messages = "high", []model.Message{user("x")}
		tries := 0
		for {
			tries++
			_, _, err := once.Ask(t.Context(), responses.API{}, b.target, b.req)
			if err == nil {
				break
			}
			var known *model.Error
			if !errors.As(err, &known) || !(responses.API{}).Adapt(b.req, b.target, known) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		body := string(b.server.Requests()[tries-1].Body)
		for _, word := range c.lacks {
			if strings.Contains(body, word) {
				t.Errorf("%s: %s has %s", name, body, word)
			}
		}
		if tries != c.tries {
			t.Errorf("%s: %d requests, want %d", name, tries, c.tries)
		}
	}
	for _, text := range []string{"max_output_tokens", "prompt_cache_key", "stream_options"} {
		target := new(api.Target)
		failed := &model.Error{Status: 400, Message: "Unknown parameter: " + text}
		if !(responses.API{}).Adapt(nil, target, failed) || (responses.API{}).Adapt(nil, target, failed) {
			t.Errorf("%s: %b", text, target.Quirks)
		}
	}
	target := new(api.Target)
	failed := &model.Error{Status: 400, Message: "Unknown parameter: 'reasoning'."}
	if !(responses.API{}).Adapt(nil, target, failed) || (responses.API{}).Adapt(nil, target, failed) {
		t.Errorf("reasoning: %b", target.Quirks)
	}
	if (responses.API{}).Adapt(nil, new(api.Target), &model.Error{Status: 500, Message: "reasoning.effort"}) {
		t.Error("a server error changes the request")
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	text := responsestest.Text("Half a")
	for name, c := range map[string]struct {
		reply responsestest.Reply
		want  model.ErrorKind
		wait  time.Duration
	}{
		"rate limit":    {responsestest.Reply{Status: 429, Failed: &responsestest.Error{Code: "rate_limit_exceeded", Message: "Rate limit reached. Please try again in 6.5s."}}, model.ErrBusy, 6500 * time.Millisecond},
		"header":        {responsestest.Reply{Status: 429, Header: http.Header{"Retry-After-Ms": {"300"}}, Failed: &responsestest.Error{Code: "rate_limit_exceeded", Message: "try again in 9s"}}, model.ErrBusy, 300 * time.Millisecond},
		"in the stream": {responsestest.Reply{Failed: &responsestest.Error{Code: "rate_limit_exceeded", Message: "Rate limit reached. Please try again in 28ms."}}, model.ErrBusy, 28 * time.Millisecond},
		"quota":         {responsestest.Reply{Status: 429, Failed: &responsestest.Error{Code: "insufficient_quota", Message: "You exceeded your current quota."}}, model.ErrCredit, 0},
		"quota, stream": {responsestest.Reply{Failed: &responsestest.Error{Code: "insufficient_quota", Message: "You exceeded it."}}, model.ErrCredit, 0},
		"overflow":      {responsestest.Reply{Failed: &responsestest.Error{Code: "context_length_exceeded", Message: "Your input exceeds the context window of this model."}}, model.ErrOverflow, 0},
		"server error":  {responsestest.Reply{Items: []responsestest.Item{text}, Failed: &responsestest.Error{Code: "server_error", Message: "Sorry."}}, model.ErrServer, 0},
		"overloaded":    {responsestest.Reply{Event: &responsestest.Error{Code: "server_is_overloaded", Message: "Our servers are full."}}, model.ErrBusy, 0},
		"error event":   {responsestest.Reply{Items: []responsestest.Item{text}, Event: &responsestest.Error{Code: "server_error", Message: "Sorry."}}, model.ErrServer, 0},
		"policy":        {responsestest.Reply{Failed: &responsestest.Error{Code: "invalid_prompt", Message: "Invalid prompt."}}, model.ErrPolicy, 0},
		"image":         {responsestest.Reply{Failed: &responsestest.Error{Code: "invalid_image_format", Message: "Not a picture."}}, model.ErrRequest, 0},
		"state":         {responsestest.Reply{Failed: &responsestest.Error{Code: "invalid_encrypted_content", Message: "The encrypted content gAAA could not be verified."}}, model.ErrState, 0},
		"cut":           {responsestest.Reply{Items: []responsestest.Item{text}, Cut: true}, model.ErrCut, 0},
		"no model":      {responsestest.Reply{Status: 404, Failed: &responsestest.Error{Code: "model_not_found", Message: "The model 'gpt-9' does not exist."}}, model.ErrModel, 0},
		"server":        {responsestest.Reply{Status: 503, Failed: &responsestest.Error{Message: "Slow."}}, model.ErrBusy, 0},
	} {
		b := newBed(t, c.reply)
		e := b.fail(user("x"))
		if e.Kind != c.want || e.RetryAfter != c.wait {
			t.Errorf("%s: %s %v, want %s %v (%v)", name, e.Kind, e.RetryAfter, c.want, c.wait, e)
		}
		if e.Message == "" {
			t.Errorf("%s: no message", name)
		}
	}
	b := newBed(t)
	b.target.Key = "sk-wrong"
	if e := b.fail(user("x")); e.Kind != model.ErrAuth {
		t.Errorf("a wrong key: %v", e)
	}
	b.target.Key, b.server.Window = "sk-one", 10
	if e := b.fail(); e.Kind != model.ErrOverflow {
		t.Errorf("a long request: %v", e)
	}
	if e := (responses.API{}).Classify(404, nil, []byte("404 page not found")); e.Kind != model.ErrRequest || !strings.Contains(e.Error(), "providers.NAME.api") {
		t.Errorf("no such API: %v", e)
	}
}

// TestStateOfAnotherAccount sends state of another account. It is refused, and the history is
// accepted without it.
func TestStateOfAnotherAccount(t *testing.T) {
	t.Parallel()
	b := newBed(t, responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("Hm."), responsestest.Text("a")}}, responsestest.Reply{Items: []responsestest.Item{responsestest.Text("b")}})
	b.server.Keys = append(b.server.Keys, "sk-two")
	b.ask(user("x"))
	b.target.Key = "sk-two"
	if e := b.fail(user("y")); e.Kind != model.ErrState {
		t.Errorf("%v", e)
	}
	b.target.NoState, b.target.Encoded = true, new(api.Cached)
	b.ask()
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply responsestest.Reply
		why   string
	}{
		"a part":   {responsestest.Reply{Items: []responsestest.Item{responsestest.Refusal("I cannot help with that.")}}, "I cannot help with that."},
		"a filter": {responsestest.Reply{Items: []responsestest.Item{responsestest.Text("Half")}, Incomplete: "content_filter"}, ""},
	} {
		b := newBed(t, c.reply)
		b.req.Messages = []model.Message{user("x")}
		reply, last, err := once.Ask(t.Context(), responses.API{}, b.target, b.req)
		if err != nil || reply.Finish != model.FinishRefusal || last.Refusal != c.why {
			t.Errorf("%s: %+v %+v %v", name, reply, last, err)
		}
	}
}

// TestOtherServers checks servers that send only whole items, or only the response, or items of
// other types.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	call := `{"type":"function_call","call_id":"c1","name":"read_file","arguments":"{}"}`
	message := `{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Hi"}]}`
	search := `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"query":"x"}}`
	for name, body := range map[string]string{
		"whole items": `{"type":"response.output_item.done","output_index":0,"item":` + search + `}
{"type":"response.output_item.done","output_index":1,"item":` + message + `}
{"type":"response.output_item.done","output_index":2,"item":` + call + `}
{"type":"response.completed","response":{"output":[]}}`,
		"only the response": `{"type":"response.completed","response":{"output":[` + search + `,` + message + `,` + call + `]}}`,
		"both": `{"type":"response.output_text.delta","output_index":1,"delta":"Hi"}
{"type":"response.output_item.done","output_index":0,"item":` + search + `}
{"type":"response.completed","response":{"output":[` + search + `,` + message + `,` + call + `]}}`,
		"arguments only when done": `{"type":"response.output_item.added","output_index":0,"item":` + search + `}
{"type":"response.output_item.done","output_index":0,"item":` + search + `}
{"type":"response.output_item.added","output_index":1,"item":{"type":"message","content":[]}}
{"type":"response.output_text.delta","output_index":1,"delta" : "\u0048i"}
{"type":"response.output_item.done","output_index":1,"item":` + message + `}
{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c1","name":"read_file","arguments":""}}
{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{}"}
{"type":"response.output_item.done","output_index":2,"item":` + call + `}
{"type":"response.completed","response":{}}`,
	} {
		reply, _, err := once.Decode(responses.API{}, &api.Target{API: api.Responses}, nil, []byte("data: "+strings.ReplaceAll(body, "\n", "\n\ndata: ")+"\n\n"))
		if err != nil || reply.Text != "Hi" || !slices.Equal(reply.Calls, []model.Call{{ID: "c1", Name: read, Args: "{}"}}) || reply.Finish != model.FinishCalls {
			t.Errorf("%s: %+v %v", name, reply, err)
			continue
		}
		out, err := responses.API{}.Encode(&model.Request{Messages: []model.Message{{Role: model.Assistant, Parts: reply.Parts()}}}, &api.Target{API: api.Responses})
		if err != nil || strings.Count(string(out.Body.Bytes()), `"web_search_call"`) != 1 || !json.Valid(out.Body.Bytes()) {
			t.Errorf("%s: %s %v", name, out.Body.Bytes(), err)
		}
	}
}

// TestServerRejects checks the strict server: it rejects the same requests as the API.
func TestServerRejects(t *testing.T) {
	t.Parallel()
	item := func(s string) string { return `{"model":"m","store":false,"stream":true,"input":[` + s + `]}` }
	call := `{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}`
	output := `{"type":"function_call_output","call_id":"c","output":"x"}`
	for body, want := range map[string]string{
		`{`: "parse",
		`{"model":"m","store":false,"stream":true,"input":"x","unknown":1}`: "Unknown parameter",
		`{"model":"m","stream":true,"input":"x"}`:                           "store",
		`{"store":false,"stream":true,"input":"x"}`:                         "'model'",
		item(call):                "No tool output found",
		item(output):              "No tool call found",
		item(output + "," + call): "No tool call found",
		item(call + "," + call):   "Duplicate",
		item(`{"type":"other"}`):  "Invalid value",
		item(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`):                                                                          "Invalid value",
		item(`{"role":"user","content":[{"type":"input_image","image_url":"x"}]}`):                                                                     "image_url",
		item(`{"role":"assistant","id":"msg_1","content":"x"}`):                                                                                        "status",
		item(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"role":"user","content":"x"}`):                                    "could not be verified",
		item(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x","status":"completed"}`):                                             "status",
		item(`{"type":"reasoning","id":"rs_1","summary":[]}`):                                                                                          "not persisted",
		item(`{"type":"function_call","id":"call_1","call_id":"c","name":"n","arguments":"{}"}`):                                                       "begins with 'fc'",
		`{"model":"m","store":false,"stream":true,"input":"x","tools":[{"type":"function","name":"a b","strict":false}]}`:                              "pattern",
		`{"model":"m","store":false,"stream":true,"input":"x","tools":[{"type":"function","name":"a","parameters":{"type":"object"},"strict":false}]}`: "missing properties",
		`{"model":"m","store":false,"stream":true,"input":"x","tool_choice":"none"}`:                                                                   "tool_choice",
		`{"model":"m","store":false,"stream":true,"input":"x","reasoning":{"effort":"max"}}`:                                                           "Unsupported value",
		`{"model":"m","store":false,"stream":true,"input":"x","max_output_tokens":1}`:                                                                  "minimum",
	} {
		s := responsestest.New()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(body)))
		if w.Code < 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %q", body, w.Code, w.Body, want)
		}
	}
}

// TestServerPairs checks the strict server: it rejects reasoning without its item, and an item
// without its reasoning.
func TestServerPairs(t *testing.T) {
	t.Parallel()
	b := newBed(t, responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("Hm."), responsestest.Text("a")}})
	b.ask(user("x"))
	whole := b.req.Messages[1].Parts
	for want, change := range map[string]func([]model.Part) []model.Part{
		"required 'reasoning' item": func(p []model.Part) []model.Part { return p[1:] },
		"could not be verified": func(p []model.Part) []model.Part {
			s := *p[0].State
			s.Data = bytes.Replace(s.Data, []byte("gAAAA"), []byte("gAAAB"), 1)
			p[0].State = &s
			return p
		},
	} {
		b.req.Messages[1].Parts = change(slices.Clone(whole))
		b.target.Encoded = nil
		if e := b.fail(user("y")); e.Kind != model.ErrState || !strings.Contains(e.Message, want) {
			t.Errorf("%v, want %s", e, want)
		}
	}
}

// TestConcurrent uses an API in fifty sessions at the same time.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	texts := make(chan string, 50)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 50 {
		b := newBed(t, responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("Hm."), responsestest.Text(fmt.Sprint(i))}})
		go func() {
			b.req.Messages = []model.Message{user("x")}
			reply, _, err := once.Ask(ctx, responses.API{}, b.target, b.req)
			if err != nil {
				texts <- err.Error()
				return
			}
			texts <- reply.Text
		}()
	}
	seen := map[string]bool{}
	for range 50 {
		seen[<-texts] = true
	}
	for i := range 50 {
		if !seen[fmt.Sprint(i)] {
			t.Fatalf("%d is missing: %v", i, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// TestOddIndexes checks calls with wrong output indexes, and a response called complete by a
// server although it reached the limit.
func TestOddIndexes(t *testing.T) {
	t.Parallel()
	call := func(index int, id, args string) string {
		item := fmt.Sprintf(`"output_index":%d,"item":{"type":"function_call","id":"fc_%s","call_id":%q,"name":"look","arguments":`, index, id, id)
		return fmt.Sprintf("data: {\"type\":\"response.output_item.added\",%s\"\"}}\n\ndata: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":%d,\"delta\":%q}\n\ndata: {\"type\":\"response.output_item.done\",%s%q}}\n\n", item, index, args, item, args)
	}
	end := func(more string) string {
		return `data: {"type":"response.completed","response":{"model":"m"` + more + "}}\n\n"
	}
	early := "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":5,\"delta\":\"{}\"}\n\n"
	for name, c := range map[string]struct {
		stream string
		limit  int
		calls  []string
		finish model.Finish
	}{
		"one index":           {call(0, "a", `{"p":1}`) + call(0, "b", `{"p":2}`) + end(""), 0, []string{`a {"p":1}`, `b {"p":2}`}, model.FinishCalls},
		"before its start":    {early + call(5, "a", `{"p":1}`) + end(""), 0, []string{`a {"p":1}`}, model.FinishCalls},
		"repeated at the end": {call(0, "a", `{}`) + end(`,"output":[{"type":"function_call","id":"fc_a","call_id":"a","name":"look","arguments":"{}"}]`), 0, []string{"a {}"}, model.FinishCalls},
		"at the limit":        {end(`,"usage":{"output_tokens":100}`), 100, nil, model.FinishLength},
		"below the limit":     {end(`,"usage":{"output_tokens":99}`), 100, nil, model.FinishStop},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, _, err := once.Decode(responses.API{}, &api.Target{API: api.Responses, Host: "h", MaxTokens: c.limit}, &model.Request{}, []byte(c.stream))
			var calls []string
			for _, made := range reply.Calls {
				calls = append(calls, made.ID+" "+made.Args)
			}
			if err != nil || !slices.Equal(calls, c.calls) || reply.Finish != c.finish {
				t.Errorf("%q %q, %v", calls, reply.Finish, err)
			}
		})
	}
}
