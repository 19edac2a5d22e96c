package responses_test

import (
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
	"github.com/hermes-ls/hermes-ls/agent/model/internal/once"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
	"github.com/hermes-ls/hermes-ls/agent/model/responses/responsestest"
)

// streams returns the bodies of responses with all kinds of events.
func streams(tb testing.TB) (bodies []string) {
	for _, r := range []responsestest.Reply{
		{Items: []responsestest.Item{responsestest.Reasoning("One.\n\nTwo."), responsestest.Phase("commentary", "A \"text\" \\ with\n\t<b>é ✓ 😀</b> and \u2028."), responsestest.Call("read_file", `{"path":"a\"b"}`), responsestest.Call("todo", `{}`)}},
		{Items: []responsestest.Item{responsestest.Refusal("No.")}},
		{Items: []responsestest.Item{responsestest.Unknown(`{"type":"web_search_call","id":"ws_1"}`), responsestest.Text("Half")}, Incomplete: "max_output_tokens"},
		{Items: []responsestest.Item{responsestest.Text("x")}, Failed: &responsestest.Error{Code: "server_error", Message: "Sorry."}},
		{Items: []responsestest.Item{responsestest.Text("x")}, Event: &responsestest.Error{Code: "server_error", Message: "Sorry."}},
	} {
		s := responsestest.New(r)
		body := `{"model":"m","store":false,"stream":true,"input":"x","include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"}}`
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(body)))
		text, err := io.ReadAll(w.Result().Body)
		if err != nil || w.Code != http.StatusOK {
			tb.Fatalf("%d %s %v", w.Code, text, err)
		}
		bodies = append(bodies, string(text))
	}
	return bodies
}

// decode decodes a body. It must end with a single finish, a [*model.Error], or a JSON error,
// and it must be possible to send the response back.
func decode(t *testing.T, body string) (*model.Reply, error) {
	target := &api.Target{API: api.Responses, Host: "h", Model: "m"}
	reply, _, err := once.Decode(responses.API{}, target, nil, []byte(body))
	if err == nil && reply.Finish == "" {
		t.Errorf("no finish and no error: %q", body)
	}
	out, failed := responses.API{}.Encode(&model.Request{Messages: []model.Message{{Role: model.Assistant, Parts: reply.Parts()}}}, target)
	if failed != nil || !json.Valid(out.Body.Bytes()) {
		t.Errorf("%q: %v %s", body, failed, out.Body.Bytes())
	}
	return reply, err
}

// TestPieces compares the decoding of events with and without a JSON decoder. The deltas are
// the same.
func TestPieces(t *testing.T) {
	t.Parallel()
	for _, body := range streams(t) {
		unnamed := ""
		for line := range strings.Lines(body) {
			if !strings.HasPrefix(line, "event: response.") {
				unnamed += line
			}
		}
		fast, fastErr := decode(t, body)
		slow, slowErr := decode(t, unnamed)
		if !reflect.DeepEqual(fast.Parts(), slow.Parts()) || fast.Finish != slow.Finish || (fastErr == nil) != (slowErr == nil) {
			t.Errorf("%+v %v, with a JSON decoder %+v %v", fast, fastErr, slow, slowErr)
		}
	}
}

// FuzzEvents feeds the decoder with cut, repeated, reordered and unknown events.
func FuzzEvents(f *testing.F) {
	for _, body := range streams(f) {
		f.Add(body, uint64(0))
		f.Add(body, uint64(7))
	}
	f.Fuzz(func(t *testing.T, body string, seed uint64) {
		if _, err := decode(t, body); seed == 0 {
			var known *model.Error
			if errors.As(err, &known) && known.Kind == "" {
				t.Errorf("an error without a kind: %v", err)
			}
			return
		}
		random := rand.New(rand.NewPCG(seed, 1))
		events := strings.SplitAfter(body, "\n\n")
		random.Shuffle(len(events), func(i, j int) {
			if random.IntN(3) == 0 {
				events[i], events[j] = events[j], events[i]
			}
		})
		mixed := strings.Join(events, "")
		decode(t, mixed[:random.IntN(len(mixed)+1)])
		decode(t, mixed+body)
	})
}

// BenchmarkDelta decodes a piece of text.
func BenchmarkDelta(b *testing.B) {
	for name, data := range map[string]string{
		"text":      `{"type":"response.output_text.delta","sequence_number":117,"item_id":"msg_68b1a2","output_index":1,"content_index":0,"delta":" the next word","logprobs":[],"obfuscation":"Zx81"}`,
		"escaped":   `{"type":"response.output_text.delta","sequence_number":117,"item_id":"msg_68b1a2","output_index":1,"content_index":0,"delta":"\n\t\"é\" ","logprobs":[]}`,
		"arguments": `{"type":"response.function_call_arguments.delta","sequence_number":117,"item_id":"fc_68b1a2","output_index":1,"delta":"path"}`,
	} {
		b.Run(name, func(b *testing.B) {
			kind := data[len(`{"type":"`):strings.Index(data, `","seq`)]
			d := responses.API{}.Decoder(nil, new(api.Target), func(model.Delta) bool { return true })
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Event(kind, []byte(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRequest encodes a turn of a session with 1,000 messages.
func BenchmarkRequest(b *testing.B) {
	req := &model.Request{System: strings.Repeat("s", 8000), Tools: []model.Tool{{Name: "read_file", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}}
	target := &api.Target{API: api.Responses, Host: "h", Model: "gpt-5", Encoded: new(api.Cached)}
	state := &model.State{API: api.Responses, Host: "h", Data: []byte(`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"` + strings.Repeat("g", 1500) + `"}`)}
	for range 250 {
		call := model.Call{ID: "call_1", Name: "read_file", Args: `{"path":"a"}`}
		req.Messages = append(req.Messages, model.NewMessage(model.User, "Look."),
			model.Message{Role: model.Assistant, Parts: []model.Part{{Type: model.ReasoningType, State: state}, model.CallPart(call)}},
			model.ResultMessage("call_1", "read_file", strings.Repeat("a line\n", 400)), model.ResponseMessage("", "Done."))
	}
	b.ReportAllocs()
	for b.Loop() {
		out, err := responses.API{}.Encode(req, target)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out.Body.Reader()); err != nil {
			b.Fatal(err)
		}
	}
}
