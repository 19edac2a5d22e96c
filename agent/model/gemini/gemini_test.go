package gemini_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini/geminitest"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/once"
)

const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	read  = "read_file"
)

// bed is a server and a conversation with it.
type bed struct {
	t      *testing.T
	server *geminitest.Server
	target *api.Target
	req    *model.Request
}

func newBed(t *testing.T, replies ...geminitest.Reply) *bed {
	t.Helper()
	s := geminitest.New(replies...)
	s.Keys = []string{"AIza-one"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &bed{t: t, server: s,
		target: &api.Target{Provider: "gemini", BaseURL: server.URL + "/v1beta", Host: "api.test", API: api.Gemini, Model: "gemini-3-flash-preview", Key: "AIza-one", Encoded: new(api.Cached)},
		req: &model.Request{System: "You help. </s> & “more”", SessionID: "0198c0de", Tools: []model.Tool{
			{Name: read, Description: "Reads <a> file.", Schema: json.RawMessage(`{"$schema":"x","type":"object","properties":{"path":{"type":"string"},"any":{"type":"object"}},"required":["path"],"additionalProperties":false}`)},
			{Name: "todo"}, {Name: "clarify", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}}}
}

// ask appends messages, sends the request, and appends the response.
func (b *bed) ask(messages ...model.Message) *model.Reply {
	b.t.Helper()
	b.req.Messages = append(b.req.Messages, messages...)
	reply, _, err := once.Ask(b.t.Context(), gemini.API{}, b.target, b.req)
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
	_, _, err := once.Ask(b.t.Context(), gemini.API{}, b.target, b.req)
	var known *model.Error
	if !errors.As(err, &known) {
		b.t.Fatalf("%v is no *model.Error", err)
	}
	return known
}

// extends reports an error unless each request extends the previous request, up to the end of
// its last message.
func (b *bed) extends() {
	b.t.Helper()
	requests := b.server.Requests()
	for i := range requests {
		if !alternates(b.t, requests[i].Body) {
			b.t.Errorf("request %d has adjacent contents of one kind: %s", i, requests[i].Body)
		}
		if i == 0 {
			continue
		}
		before, ok := contents(requests[i-1].Body)
		if !ok || !bytes.HasPrefix(requests[i].Body, before) {
			b.t.Errorf("request %d does not extend the previous one:\n%s\n%s", i, requests[i-1].Body, requests[i].Body)
		}
	}
}

// alternates reports whether adjacent contents of a request always differ in kind.
func alternates(t *testing.T, body []byte) bool {
	t.Helper()
	var req struct {
		Contents []struct {
			Role  string
			Parts []struct{ FunctionResponse any }
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	before := ""
	for _, c := range req.Contents {
		kind := c.Role
		if c.Parts[0].FunctionResponse != nil {
			kind = "results"
		}
		if kind == before {
			return false
		}
		before = kind
	}
	return true
}

// contents returns a request up to the end of its last message.
func contents(body []byte) ([]byte, bool) {
	end := bytes.LastIndex(body, []byte(`]}],"generationConfig"`))
	return body[:max(end, 0)], end > 0
}

func user(text string) model.Message { return model.NewMessage(model.User, text) }

func result(c model.Call, text string, images ...model.Image) model.Message {
	return model.ResultMessage(c.ID, c.Name, text, images...)
}

var picture = model.Image{Name: "dot.png", MIMEType: "image/png", Data: pixel}

// TestConversation plays a conversation with thoughts, parallel calls, images and signatures.
// The strict server accepts it, with and without ids, for models with and without images in
// results.
func TestConversation(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bed){
		"Gemini 3":          func(*bed) {},
		"Gemini 3 with ids": func(b *bed) { b.server.IDs = true },
		"Gemini 2.5":        func(b *bed) { b.server.Version, b.target.Model = 2.5, "gemini-2.5-flash" },
		"latest":            func(b *bed) { b.target.Model = "models/gemini-flash-latest" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t,
				geminitest.Reply{Parts: []geminitest.Part{geminitest.Thought("First the file, then the “tests”."), geminitest.Text("I look at \"both\" files. ✓"),
					geminitest.Call(read, `{ "path": "a.go", "n": 1.50 }`), geminitest.Call(read, `{"path":"b.png"}`)}},
				geminitest.Reply{Parts: []geminitest.Part{geminitest.Thought("Now I know."), geminitest.Call("todo", "")}},
				geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("All of it is done.")}, Trailing: true},
				geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("Welcome back again.")}},
				geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("Bye.")}},
			)
			change(b)
			b.req.Effort = "low"
			first := b.ask(model.NewMessage(model.User, "Look.", model.ImagePart(picture)))
			if first.Reasoning != "First the file, then the “tests”." || first.Text != "I look at \"both\" files. ✓" || len(first.Calls) != 2 || first.Finish != model.FinishCalls {
				t.Fatalf("%+v", first)
			}
			if c := first.Calls[0]; c.Name != read || c.Args != `{"path":"a.go","n":1.50}` || strings.HasPrefix(c.ID, "fc-") != b.server.IDs {
				t.Errorf("%+v", c)
			}
			if u := first.Usage; first.Model != "gemini-test-001" || u.Reasoning != 7 || u.Output <= 7 || u.Input == 0 || u.CachedRead == 0 {
				t.Errorf("%q %+v", first.Model, u)
			}
			second := b.ask(result(first.Calls[0], "text"), result(first.Calls[1], "", picture))
			b.ask(result(second.Calls[0], ""))
			b.ask(user("Thanks."), user("More."))
			b.ask(user("Bye."))
			b.extends()
			for _, r := range b.server.Requests() {
				if r.Error != "" || strings.Contains(r.URL, "AIza") || r.Header.Get("X-Goog-Api-Key") != "AIza-one" {
					t.Errorf("%s %s %v", r.Error, r.URL, r.Header)
				}
			}
			last := string(b.server.Requests()[4].Body)
			if strings.Contains(last, "skip_thought") || strings.Contains(last, "Now I know") || strings.Count(last, `"thoughtSignature"`) != 4 {
				t.Errorf("%s", last)
			}
			if inside := strings.Contains(last, `"parts":[{"inlineData"`); inside != (b.server.Version == 0) {
				t.Errorf("an image is in a result: %v", inside)
			}
		})
	}
}

// TestForeignHistory sends a history of another API. The first call of each response gets a
// signature, and no call gets an id.
func TestForeignHistory(t *testing.T) {
	t.Parallel()
	b := newBed(t, geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("Yes.")}}, geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("Yes.")}})
	calls := []model.Call{{ID: "toolu_1", Name: read, Args: `{"path":"a"}`}, {ID: "toolu_2", Name: read, Args: `{"path":`}, {ID: "toolu_3", Name: "todo"}, {ID: "toolu_4", Name: "todo", Args: "[1]"}}
	foreign := model.ResponseMessage("a thought", "I look.", calls[:3]...)
	foreign.Parts[0].State = &model.State{API: api.Messages, Host: "api.test", Data: []byte(`{"signature":"x"}`)}
	b.ask(user("Go."), foreign, result(calls[0], "text"), result(calls[1], "not JSON"), result(calls[2], ""), model.ResponseMessage("", "", calls[3]), result(calls[3], "x"),
		model.Message{Role: model.User, Parts: []model.Part{model.TextPart(""), {Type: model.FileType, Image: model.Image{Name: "a.pdf", MIMEType: "application/pdf", Data: "aGk="}}}})
	body := string(b.server.Requests()[0].Body)
	if n := strings.Count(body, "skip_thought_signature_validator"); n != 2 || strings.Contains(body, "toolu") || strings.Contains(body, "a thought") {
		t.Errorf("%d of %s", n, body)
	}
	b.target.Model, b.server.Version, b.target.Encoded = "gemini-2.5-pro", 2.5, new(api.Cached)
	b.ask(user("And?"))
	if body := string(b.server.Requests()[1].Body); strings.Contains(body, "skip_thought") {
		t.Errorf("%s", body)
	}
}

// TestStateOfAnotherAccount sends a signature of another account. It is refused, and the
// history is accepted without it.
func TestStateOfAnotherAccount(t *testing.T) {
	t.Parallel()
	b := newBed(t, geminitest.Reply{Parts: []geminitest.Part{geminitest.Call("todo", `{}`)}}, geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("b")}})
	b.server.Keys = append(b.server.Keys, "AIza-two")
	b.server.IDs = true
	reply := b.ask(user("x"))
	b.target.Key = "AIza-two"
	if e := b.fail(result(reply.Calls[0], "ok")); e.Kind != model.ErrState {
		t.Errorf("%v", e)
	}
	b.target.NoState, b.target.Encoded = true, new(api.Cached)
	b.ask()
}

// TestImagesAsText checks a model without image support: it gets text.
func TestImagesAsText(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"gemini-3-pro-preview", "gemini-2.5-flash"} {
		b := newBed(t, geminitest.Reply{Parts: []geminitest.Part{geminitest.Call(read, `{}`)}}, geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("A dot.")}})
		b.target.Model, b.target.Images = id, map[int]model.PictureForm{0: model.AsText, 2: model.AsText}
		reply := b.ask(model.NewMessage(model.User, "See.", model.ImagePart(picture)))
		b.ask(result(reply.Calls[0], "read", picture))
		body := string(b.server.Requests()[1].Body)
		if strings.Contains(body, "inlineData") || strings.Count(body, "picture dot.png, 1 × 1") != 2 {
			t.Errorf("%s", body)
		}
		b.extends()
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, effort string
		levels        []string
		want          string
	}{
		{"gemini-3-flash-preview", "", nil, `{"includeThoughts":true}`},
		{"gemini-3-flash-preview", "default", nil, `{"includeThoughts":true}`},
		{"gemini-3-flash-preview", "minimal", nil, `{"includeThoughts":true,"thinkingLevel":"minimal"}`},
		{"gemini-3-flash-preview", "none", nil, `{"includeThoughts":true,"thinkingLevel":"minimal"}`},
		{"gemini-3-flash-preview", "max", nil, `{"includeThoughts":true,"thinkingLevel":"high"}`},
		{"gemini-3-pro-preview", "medium", nil, `{"includeThoughts":true,"thinkingLevel":"low"}`},
		{"gemini-3-pro-preview", "minimal", nil, `{"includeThoughts":true,"thinkingLevel":"low"}`},
		{"gemini-3.1-pro-preview", "medium", nil, `{"includeThoughts":true,"thinkingLevel":"medium"}`},
		{"gemini-4-pro", "max", []string{"low", "high", "xhigh"}, `{"includeThoughts":true,"thinkingLevel":"xhigh"}`},
		{"gemini-flash-latest", "low", nil, `{"includeThoughts":true,"thinkingLevel":"low"}`},
		{"gemini-2.5-pro", "none", nil, `{"includeThoughts":true,"thinkingBudget":128}`},
		{"gemini-2.5-flash", "none", nil, `{"includeThoughts":true,"thinkingBudget":0}`},
		{"gemini-2.5-flash-lite", "minimal", nil, `{"includeThoughts":true,"thinkingBudget":512}`},
		{"gemini-2.5-flash", "low", nil, `{"includeThoughts":true,"thinkingBudget":2048}`},
		{"gemini-2.5-flash", "medium", nil, `{"includeThoughts":true,"thinkingBudget":8192}`},
		{"gemini-2.5-flash", "high", nil, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash", "max", nil, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-pro", "max", nil, `{"includeThoughts":true,"thinkingBudget":32768}`},
		{"gemini-2.5-pro", "xhigh", []string{"low", "high"}, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash", "", nil, `{"includeThoughts":true}`},
		{"gemini-2.0-flash", "high", nil, ``},
		{"gemma-3-27b-it", "high", nil, ``},
		{"gemini-3-flash-image", "high", []string{}, ``},
	} {
		out, err := gemini.API{}.Encode(&model.Request{Effort: c.effort, Messages: []model.Message{user("x")}}, &api.Target{Model: c.model, Efforts: c.levels})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			GenerationConfig struct{ ThinkingConfig json.RawMessage }
		}
		if err := json.Unmarshal(out.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if got := string(body.GenerationConfig.ThinkingConfig); got != c.want {
			t.Errorf("%s %q %q: %s, want %s", c.model, c.effort, c.levels, got, c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	b := newBed(t, geminitest.Reply{})
	b.req.MaxTokens, b.req.NoCalls = 5, true
	b.target.Extra = []api.Field{{Name: "safetySettings", Value: json.RawMessage(`[]`)}}
	b.ask(user("x"))
	body := string(b.server.Requests()[0].Body)
	for _, want := range []string{`"maxOutputTokens":5`, `"mode":"NONE"`, `"safetySettings":[]`, `"systemInstruction":{"parts":[{"text":"You help. </s>`, `"parametersJsonSchema":{`, `{"name":"clarify","description":""}`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://generativelanguage.googleapis.com":         "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
		"https://generativelanguage.googleapis.com/v1beta/": "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
		"http://127.0.0.1:4000/v1beta":                      "http://127.0.0.1:4000/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
		"https://gateway.test/google/v1":                    "https://gateway.test/google/v1/models/gemini-3-pro:streamGenerateContent?alt=sse",
	} {
		out, err := gemini.API{}.Encode(&model.Request{}, &api.Target{BaseURL: base, Model: "gemini-3-pro"})
		if err != nil || out.URL != want || out.Method != http.MethodPost {
			t.Errorf("%s: %s %v, want %s", base, out.URL, err, want)
		}
	}
}

// TestAdapt checks thinking parameters rejected by the model: they are omitted.
func TestAdapt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		levels []string
		tries  int
		lacks  string
	}{
		"a level":     {[]string{"low"}, 2, "thinkingLevel"},
		"no thinking": {nil, 2, "thinkingConfig"},
	} {
		b := newBed(t, geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("ok")}})
		b.server.Levels = c.levels
		b.req.Effort, b.req.Messages = "high", []model.Message{user("x")}
		tries := 1
		for ; ; tries++ {
			_, _, err := once.Ask(t.Context(), gemini.API{}, b.target, b.req)
			if err == nil {
				break
			}
			var known *model.Error
			if !errors.As(err, &known) || !(gemini.API{}).Adapt(b.req, b.target, known) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if body := string(b.server.Requests()[tries-1].Body); tries != c.tries || strings.Contains(body, c.lacks) {
			t.Errorf("%s: %d requests, %s", name, tries, body)
		}
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]model.Finish{
		"STOP": model.FinishStop, "MAX_TOKENS": model.FinishLength, "SAFETY": model.FinishRefusal, "PROHIBITED_CONTENT": model.FinishRefusal,
		"RECITATION": model.FinishRefusal, "BLOCKLIST": model.FinishRefusal, "SPII": model.FinishRefusal, "CONTINUATION": model.FinishPause, "A_LATER_REASON": model.FinishStop,
	} {
		b := newBed(t, geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("Half a")}, Finish: reason, Message: "It was so."})
		b.req.Messages = []model.Message{user("x")}
		reply, last, err := once.Ask(t.Context(), gemini.API{}, b.target, b.req)
		if err != nil || reply.Finish != want || reply.Text != "Half a" || (last.Refusal == "It was so.") != (want == model.FinishRefusal) {
			t.Errorf("%s: %+v %v, want %s", reason, last, err, want)
		}
	}
	for reason, want := range map[string]model.ErrorKind{
		"MALFORMED_FUNCTION_CALL": model.ErrServer, "UNEXPECTED_TOOL_CALL": model.ErrServer, "OTHER": model.ErrServer, "MISSING_THOUGHT_SIGNATURE": model.ErrState,
	} {
		b := newBed(t, geminitest.Reply{Finish: reason})
		if e := b.fail(user("x")); e.Kind != want || e.Message != reason {
			t.Errorf("%s: %v, want %s", reason, e, want)
		}
	}
	b := newBed(t, geminitest.Reply{Block: "PROHIBITED_CONTENT"})
	b.req.Messages = []model.Message{user("x")}
	_, last, err := once.Ask(t.Context(), gemini.API{}, b.target, b.req)
	if err != nil || last.Finish != model.FinishRefusal || last.Refusal != "PROHIBITED_CONTENT: HARM_CATEGORY_DANGEROUS_CONTENT" {
		t.Errorf("%+v %v", last, err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	quota := func(id, more string) string {
		return `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"x","quotaId":"` + id + `","quotaValue":"10"}]}` + more + `]}}]`
	}
	for name, c := range map[string]struct {
		reply geminitest.Reply
		want  model.ErrorKind
		wait  time.Duration
	}{
		"a minute":    {geminitest.Reply{Status: 429, Error: quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"38s"}`)}, model.ErrBusy, 38 * time.Second},
		"a day":       {geminitest.Reply{Status: 429, Error: quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "")}, model.ErrCredit, 0},
		"credits":     {geminitest.Reply{Status: 429, Error: `{"error":{"code":429,"message":"Your prepayment credits are depleted.","status":"RESOURCE_EXHAUSTED"}}`}, model.ErrCredit, 0},
		"overloaded":  {geminitest.Reply{Status: 503, Error: `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`}, model.ErrBusy, 0},
		"server":      {geminitest.Reply{Status: 500, Error: `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`}, model.ErrServer, 0},
		"in a stream": {geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("x")}, Error: `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`}, model.ErrBusy, 0},
		"permission":  {geminitest.Reply{Status: 403, Error: `{"error":{"code":403,"message":"Permission denied.","status":"PERMISSION_DENIED"}}`}, model.ErrAuth, 0},
		"no model":    {geminitest.Reply{Status: 404, Error: `{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta","status":"NOT_FOUND"}}`}, model.ErrModel, 0},
		"signature":   {geminitest.Reply{Status: 400, Error: `{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}`}, model.ErrState, 0},
		"cut":         {geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("x")}, Cut: true}, model.ErrCut, 0},
	} {
		b := newBed(t, c.reply)
		if e := b.fail(user("x")); e.Kind != c.want || e.RetryAfter != c.wait || e.Message == "" {
			t.Errorf("%s: %s %v, want %s %v (%v)", name, e.Kind, e.RetryAfter, c.want, c.wait, e)
		}
	}
	b := newBed(t)
	b.target.Key = "AIza-wrong"
	if e := b.fail(user("x")); e.Kind != model.ErrAuth {
		t.Errorf("a wrong key: %v", e)
	}
	b.target.Key, b.server.Window = "AIza-one", 10
	if e := b.fail(); e.Kind != model.ErrOverflow {
		t.Errorf("a long request: %v", e)
	}
}

// TestState checks the place of state: signatures stay with their parts. Parts of other types
// are sent back.
func TestState(t *testing.T) {
	t.Parallel()
	body := `data: {"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true},{"text":"a"},{"text":"b"},{"text":"c","thoughtSignature":"x+/=="},{"text":"d"}]}}]}

data: {"candidates":[{"content":{"parts":[{"executableCode":{"language":"PYTHON","code":"1<2"}},{"functionCall":{"name":"todo"}},{"later":1}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"another"}]}}]}

`
	target := &api.Target{API: api.Gemini, Host: "h", Model: "gemini-3-pro"}
	reply, _, err := once.Decode(gemini.API{}, target, nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, p := range reply.Parts() {
		kind := string(p.Type) + ":" + p.Text
		if p.State != nil {
			kind += string(p.State.Data)
		}
		kinds = append(kinds, kind)
	}
	want := []string{"reasoning:Hm.", "text:ab", `text:c{"signature":"x+/=="}`, "text:d", `reasoning:{"part":{"executableCode":{"language":"PYTHON","code":"1<2"}}}`, "call:",
		`reasoning:{"part":{"later":1}}`}
	if !slices.Equal(kinds, want) {
		t.Errorf("\n got %q\nwant %q", kinds, want)
	}
	out, err := gemini.API{}.Encode(&model.Request{Messages: []model.Message{{Role: model.Assistant, Parts: reply.Parts()}}}, target)
	if err != nil {
		t.Fatal(err)
	}
	sent := `"parts":[{"text":"ab"},{"text":"c","thoughtSignature":"x+/=="},{"text":"d"},{"executableCode":{"language":"PYTHON","code":"1<2"}},{"functionCall":{"name":"todo","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"later":1}]`
	if !strings.Contains(string(out.Body.Bytes()), sent) {
		t.Errorf("%s lacks %s", out.Body.Bytes(), sent)
	}
}

// TestServerRejects checks the strict server: it rejects the same requests as the API.
func TestServerRejects(t *testing.T) {
	t.Parallel()
	with := func(contents string) string { return `{"contents":[` + contents + `]}` }
	prompt := `{"role":"user","parts":[{"text":"x"}]}`
	call := `{"role":"model","parts":[{"functionCall":{"name":"n"},"thoughtSignature":"skip_thought_signature_validator"}]}`
	answer := `{"role":"user","parts":[{"functionResponse":{"name":"n","response":{}}}]}`
	for body, want := range map[string]string{
		`{`:               "Invalid JSON",
		`{"contents":[]}`: "not specified",
		`{"contents":[` + prompt + `],"model":"x"}`:               "Unknown name",
		with(`{"role":"assistant","parts":[{"text":"x"}]}`):       "valid role",
		with(`{"role":"user","parts":[]}`):                        "must not be empty",
		with(`{"role":"user","parts":[{"text":""}]}`):             "text parameter",
		with(`{"role":"user","parts":[{}]}`):                      "oneof",
		with(call + `,` + answer):                                 "first content",
		with(prompt + `,{"role":"model","parts":[{"text":"x"}]}`): "last content",
		`{"contents":[` + prompt + `],"continuationToken":"x"}`:   "continuation token",
		with(prompt + `,` + answer):                               "function call turn",
		with(prompt + `,` + call + `,` + prompt):                  "number of function response parts",
		with(prompt + `,` + call + `,{"role":"user","parts":[{"functionResponse":{"name":"m","response":{}}}]}`):                                   "matches",
		with(prompt + `,{"role":"model","parts":[{"functionCall":{"name":"n"}}]},` + answer):                                                       "missing a thought_signature",
		with(prompt + `,{"role":"model","parts":[{"text":"x","thoughtSignature":"eA=="}]},` + prompt):                                              "Corrupted",
		`{"contents":[` + prompt + `],"tools":[{"functionDeclarations":[{"name":"1"}]}]}`:                                                          "function name",
		`{"contents":[` + prompt + `],"tools":[{"functionDeclarations":[{"name":"a","parameters":{"type":"object"}}]}]}`:                           "non-empty for OBJECT",
		`{"contents":[` + prompt + `],"tools":[{"functionDeclarations":[{"name":"a","parameters":{"type":"object","oneOf":[]}}]}]}`:                "Unknown name",
		`{"contents":[` + prompt + `],"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":{"type":"object","properties":{}}}]}]}`: "non-empty",
		`{"contents":[` + prompt + `],"generationConfig":{"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"low"}}}`:                           "only one of",
		`{"contents":[` + prompt + `],"generationConfig":{"thinkingConfig":{"thinkingLevel":"xhigh"}}}`:                                            "not supported",
	} {
		w := httptest.NewRecorder()
		geminitest.New().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1beta/models/m:streamGenerateContent?alt=sse", strings.NewReader(body)))
		if w.Code < 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %q", body, w.Code, w.Body, want)
		}
	}
	for _, url := range []string{"/v1beta/models/m:streamGenerateContent", "/v1beta/models/m:streamGenerateContent?alt=sse&key=x", "/v1beta/m"} {
		w := httptest.NewRecorder()
		geminitest.New(geminitest.Reply{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, url, strings.NewReader(with(prompt))))
		if w.Code < 400 {
			t.Errorf("%s: %d", url, w.Code)
		}
	}
}

// TestStored encodes a request with and without stored messages. The bytes are the same.
func TestStored(t *testing.T) {
	t.Parallel()
	b := newBed(t, geminitest.Reply{Parts: []geminitest.Part{geminitest.Call(read, `{}`), geminitest.Call("todo", `{}`)}}, geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("x")}})
	b.server.IDs = true
	reply := b.ask(user("a"))
	b.ask(result(reply.Calls[0], "1", picture), result(reply.Calls[1], "2"), user("b"))
	b.req.Messages = append(b.req.Messages, user("c"))
	stored, err := gemini.API{}.Encode(b.req, b.target)
	if err != nil {
		t.Fatal(err)
	}
	b.target.Encoded = nil
	fresh, err := gemini.API{}.Encode(b.req, b.target)
	if err != nil || !reflect.DeepEqual(stored.Body.Bytes(), fresh.Body.Bytes()) {
		t.Errorf("%v\n%s\n%s", err, stored.Body.Bytes(), fresh.Body.Bytes())
	}
}
