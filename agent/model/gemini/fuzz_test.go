package gemini_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini/geminitest"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/once"
)

// streams returns the bodies of responses with all kinds of events.
func streams(tb testing.TB) (bodies []string) {
	for _, r := range []geminitest.Reply{
		{Parts: []geminitest.Part{geminitest.Thought("One."), geminitest.Text("A \"text\" \\ with\n<b>é ✓ 😀</b>."), geminitest.Call("read_file", `{"path":"a\"b"}`), geminitest.Call("todo", "")}},
		{Parts: []geminitest.Part{geminitest.Text("Half")}, Trailing: true, Finish: "MAX_TOKENS"},
		{Parts: []geminitest.Part{geminitest.Unknown(`{"executableCode":{"code":"x"}}`), geminitest.Text("x")}, Finish: "SAFETY"},
		{Block: "SAFETY"},
		{Parts: []geminitest.Part{geminitest.Text("x")}, Error: `{"error":{"code":503,"message":"The model is overloaded."}}`},
	} {
		w := httptest.NewRecorder()
		body := strings.NewReader(`{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`)
		geminitest.New(r).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1beta/models/m:streamGenerateContent?alt=sse", body))
		if w.Code != http.StatusOK {
			tb.Fatalf("%d %s", w.Code, w.Body)
		}
		bodies = append(bodies, strings.ReplaceAll(w.Body.String(), "\r", ""))
	}
	return bodies
}

// TestPieces compares the decoding of events with and without a JSON decoder. The deltas are
// the same, and white space does not matter.
func TestPieces(t *testing.T) {
	t.Parallel()
	for _, body := range streams(t) {
		spaced, slow := "", ""
		for line := range strings.Lines(body) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			var indented bytes.Buffer
			if err := json.Indent(&indented, []byte(data), "", " "); err != nil {
				t.Fatal(err)
			}
			spaced += "data: " + strings.ReplaceAll(strings.TrimSpace(indented.String()), "\n", "\ndata: ") + "\n\n"
			slow += "data: " + strings.Replace(strings.TrimSpace(data), "{", `{"error":null,`, 1) + "\n\n"
		}
		want, wantErr := decode(t, slow)
		for _, other := range []string{body, spaced} {
			got, err := decode(t, other)
			if !reflect.DeepEqual(got.Parts(), want.Parts()) || got.Usage != want.Usage || got.Model != want.Model || got.Finish != want.Finish || (err == nil) != (wantErr == nil) {
				t.Errorf("%+v %v, with a JSON decoder %+v %v", got, err, want, wantErr)
			}
		}
	}
}

// TestSeveralCallsInAPart checks parts with several calls, or with a text beside a call, as
// some gateways send them.
func TestSeveralCallsInAPart(t *testing.T) {
	t.Parallel()
	for parts, want := range map[string]string{
		`{"functionCall":[{"name":"a","args":{"x":1}},{"name":"b","args":{}}]}`:                             "a{\"x\":1} b{}",
		`{"functionCall":[{"name":"a","args":{}}],"thoughtSignature":"AAAA"},{"functionCall":{"name":"b"}}`: "a{} b{}",
		`{"functionCall":[{"name":"a","args":"{\"x\":1}"},null,{"id":7,"name":"b","args":[]}]}`:             "a{\"x\":1} b[]",
		`{"text":"Look","functionCall":{"name":"a","args":{}}}`:                                             "Look a{}",
		`{"functionCall":[]}`:                 "",
		`{"functionCall":null,"text":"Look"}`: "Look",
	} {
		body := `data: {"candidates":[{"content":{"parts":[` + parts + `]},"finishReason":"STOP"}]}` + "\n\n"
		reply, err := decode(t, body)
		if err != nil {
			t.Errorf("%s: %v", parts, err)
			continue
		}
		var got []string
		for _, p := range reply.Parts() {
			switch {
			case p.Type == model.CallType:
				got = append(got, p.Call.Name+p.Call.Args)
			case p.Text != "":
				got = append(got, p.Text)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", parts, got, want)
		}
	}
}

// decode decodes a body. It must end with a single finish or an error, and it must be possible
// to send the response back.
func decode(t *testing.T, body string) (*model.Reply, error) {
	target := &api.Target{API: api.Gemini, Host: "h", Model: "gemini-3-pro"}
	reply, _, err := once.Decode(gemini.API{}, target, nil, []byte(body))
	if err == nil && reply.Finish == "" {
		t.Errorf("no finish and no error: %q", body)
	}
	var known *model.Error
	if errors.As(err, &known) && known.Kind == "" {
		t.Errorf("an error without a kind: %v", err)
	}
	out, failed := gemini.API{}.Encode(&model.Request{Messages: []model.Message{{Role: model.Assistant, Parts: reply.Parts()}}}, target)
	if failed != nil || !json.Valid(out.Body.Bytes()) {
		t.Errorf("%q: %v %s", body, failed, out.Body.Bytes())
	}
	return reply, err
}

// FuzzEvents feeds the decoder with cut, repeated, reordered and unknown events.
func FuzzEvents(f *testing.F) {
	for _, body := range streams(f) {
		f.Add(body, uint64(0))
		f.Add(body, uint64(7))
	}
	f.Fuzz(func(t *testing.T, body string, seed uint64) {
		decode(t, body)
		random := rand.New(rand.NewPCG(seed, 1))
		events := strings.SplitAfter(body, "\n\n")
		random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		mixed := strings.Join(events, "")
		decode(t, mixed[:random.IntN(len(mixed)+1)])
		decode(t, mixed+body)
	})
}

// BenchmarkDelta decodes an event with a piece of text.
func BenchmarkDelta(b *testing.B) {
	data := []byte(`{"candidates":[{"content":{"parts":[{"text":" the next words of an answer, of which one event has about thirty"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":10391,"candidatesTokenCount":57,"totalTokenCount":10590,"cachedContentTokenCount":8190,"promptTokensDetails":[{"modality":"TEXT","tokenCount":10391}],"thoughtsTokenCount":142},"modelVersion":"gemini-3-flash-preview","responseId":"a1b2c3d4e5f6"}`)
	d := gemini.API{}.Decoder(nil, new(api.Target), func(model.Delta) bool { return true })
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Event("", data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRequest encodes a turn of a session with 1,000 messages.
func BenchmarkRequest(b *testing.B) {
	req := &model.Request{System: strings.Repeat("s", 8000), Tools: []model.Tool{{Name: "read_file", Schema: json.RawMessage(`{"type":"object","properties":{"a":{}}}`)}}}
	target := &api.Target{API: api.Gemini, Host: "h", Model: "gemini-3-pro", Encoded: new(api.Cached)}
	state := &model.State{API: api.Gemini, Host: "h", Data: []byte(`{"id":"fc-1","signature":"` + strings.Repeat("g", 1500) + `"}`)}
	for range 250 {
		call := model.Call{ID: "fc-1", Name: "read_file", Args: `{"path":"a"}`}
		req.Messages = append(req.Messages, model.NewMessage(model.User, "Look."),
			model.Message{Role: model.Assistant, Parts: []model.Part{{Type: model.CallType, Call: call, State: state}}},
			model.ResultMessage("fc-1", "read_file", strings.Repeat("a line\n", 400)), model.ResponseMessage("", "Done."))
	}
	b.ReportAllocs()
	for b.Loop() {
		out, err := gemini.API{}.Encode(req, target)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out.Body.Reader()); err != nil {
			b.Fatal(err)
		}
	}
}
