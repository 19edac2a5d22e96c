package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

func TestBody(t *testing.T) {
	t.Parallel()
	long := []byte(`"` + strings.Repeat("x", 1000) + `"`)
	b := api.Body{Extra: []api.Field{{Name: "top_k", Value: json.RawMessage("4")}, {Name: "model", Value: json.RawMessage(`"other"`)}, {Name: "messages", Value: json.RawMessage("1")}, {Name: "tool_choice", Value: json.RawMessage(`"x"`)}}}
	b.Field("model", "m")
	b.Field("text", "a < b & c")
	b.List("messages")
	b.Item([]byte("1"))
	b.Item(nil)
	b.Item(long)
	b.EndList()
	b.Raw("system", long)
	b.ExtraFields()
	b.Field("tool_choice", "none")
	pieces, err := b.Close()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"other","text":"a < b & c","messages":[1,` + string(long) + `],"system":` + string(long) + `,"top_k":4,"tool_choice":"x"}`
	if got := string(pieces.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if int64(len(want)) != pieces.Len() {
		t.Errorf("length %d, want %d", pieces.Len(), len(want))
	}
	if err := iotest.TestReader(pieces.Reader(), []byte(want)); err != nil {
		t.Error(err)
	}
	var empty api.Body
	if pieces, err = empty.Close(); err != nil || string(pieces.Bytes()) != "{}" {
		t.Errorf("%s, %v", pieces.Bytes(), err)
	}
	empty = api.Body{}
	empty.Field("bad", func() {})
	if _, err := empty.Close(); err == nil {
		t.Error("a function was encoded")
	}
}

func TestEachMessageIsEncodedOnce(t *testing.T) {
	t.Parallel()
	encoded := 0
	encode := func() ([]byte, error) { encoded++; return []byte("piece"), nil }
	var c api.Cached
	m := model.NewMessage(model.User, "hello")
	for range 3 {
		if piece, err := c.Message(&m, 0, encode); err != nil || string(piece) != "piece" {
			t.Fatal(piece, err)
		}
	}
	copied := m
	c.Message(&copied, 0, encode)
	if encoded != 1 {
		t.Errorf("encoded %d times", encoded)
	}
	c.Message(&m, 1, encode)
	equal := model.NewMessage(model.User, "hello")
	c.Message(&equal, 0, encode)
	if encoded != 3 {
		t.Errorf("encoded %d times, want each message and each of its forms once", encoded)
	}
	runtime.KeepAlive(m)
	var none *api.Cached
	none.Message(&m, 0, encode)
	none.Message(&m, 0, encode)
	if encoded != 5 {
		t.Errorf("nil keeps messages")
	}
	tools := []model.Tool{{Name: "a"}}
	for range 2 {
		c.Tools(tools, encode)
		c.System("prompt", encode)
	}
	c.System("other", encode)
	if encoded != 8 {
		t.Errorf("encoded %d times", encoded)
	}
}

func TestEffort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ has, asked, want string }{
		{"", "", ""}, {"", "default", ""}, {"", "xhigh", "xhigh"}, {"low medium high", "max", "high"}, {"low medium high", "medium", "medium"},
		{"low high", "medium", "low"}, {"low high", "minimal", "low"}, {"low high", "none", "low"}, {"none low", "none", "none"}, {"none high", "low", "high"},
	} {
		target := api.Target{Efforts: strings.Fields(c.has)}
		if got := target.Effort(&model.Request{Effort: c.asked}); got != c.want {
			t.Errorf("%q of [%s] = %q, want %q", c.asked, c.has, got, c.want)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, version, path string
		after               bool
		want                string
	}{
		{"https://api.openai.com/v1", "/v1", "/responses", false, "https://api.openai.com/v1/responses"},
		{"https://api.openai.com/", "/v1", "/responses", false, "https://api.openai.com/v1/responses"},
		{"https://api.z.ai/api/paas/v4", "/v1", "/chat/completions", false, "https://api.z.ai/api/paas/v4/chat/completions"},
		{"https://api.anthropic.com", "/v1", "/messages", true, "https://api.anthropic.com/v1/messages"},
		{"https://api.minimax.io/anthropic", "/v1", "/messages", true, "https://api.minimax.io/anthropic/v1/messages"},
		{"https://api.anthropic.com/v1/", "/v1", "/messages", true, "https://api.anthropic.com/v1/messages"},
		{"https://g/v1beta", "/v1beta", "/models", false, "https://g/v1beta/models"},
	} {
		target := api.Target{BaseURL: c.base}
		if got := target.URL(c.version, c.path, c.after); got != c.want {
			t.Errorf("%s: %s, want %s", c.base, got, c.want)
		}
	}
}

func TestStateGoesOnlyToItsOrigin(t *testing.T) {
	t.Parallel()
	target := api.Target{API: "messages", Host: "one"}
	part := model.Part{State: target.NewState([]byte(`"s"`))}
	if !bytes.Equal(target.State(&part), []byte(`"s"`)) {
		t.Error("its own state is not sent")
	}
	for _, other := range []api.Target{{API: "responses", Host: "one"}, {API: "messages", Host: "two"}, {API: "messages", Host: "one", NoState: true}} {
		if other.State(&part) != nil {
			t.Errorf("%+v gets the state", other)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		kind   model.ErrorKind
		wait   time.Duration
	}{
		{400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"x","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`, model.ErrAuth, 0},
		{429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota","details":[{"reason":"RATE_LIMIT_EXCEEDED"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"38.5s"}]}}`, model.ErrBusy, 38500 * time.Millisecond},
		{429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`, model.ErrCredit, 0},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"enforced_spend_limit_reached"}}`, model.ErrCredit, 0},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}`, model.ErrCredit, 0},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}`, model.ErrBusy, 0},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrBusy, 0},
		{0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrBusy, 0},
		{0, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, model.ErrServer, 0},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" + ` block"}}`, model.ErrState, 0},
		{400, `{"error":{"code":"invalid_encrypted_content","message":"The encrypted content could not be verified."}}`, model.ErrState, 0},
		{400, `{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}`, model.ErrState, 0},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, model.ErrOverflow, 0},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, model.ErrModel, 0},
		{404, `{"error":{"message":"Unknown path"}}`, model.ErrRequest, 0},
		{400, `{"error":{"code":"content_filter","message":"The response was filtered"}}`, model.ErrPolicy, 0},
		{500, `{"error":{"message":"oops"}}`, model.ErrServer, 0},
	} {
		e := api.Classify(c.status, http.Header{}, []byte(c.body))
		if e.Kind != c.kind || e.RetryAfter != c.wait {
			t.Errorf("%d %s: %q, %v; want %q, %v", c.status, c.body, e.Kind, e.RetryAfter, c.kind, c.wait)
		}
	}
	final := api.Classify(503, http.Header{"X-Should-Retry": {"false"}, "Retry-After-Ms": {"1500"}}, nil)
	if !final.Final || final.RetryAfter != 1500*time.Millisecond {
		t.Errorf("%+v", final)
	}
}

func BenchmarkPieces(b *testing.B) {
	messages := make([]model.Message, 1000)
	for i := range messages {
		messages[i] = model.NewMessage(model.User, "x")
	}
	piece := bytes.Repeat([]byte("x"), 2000)
	var c api.Cached
	b.ReportAllocs()
	for b.Loop() {
		var body api.Body
		body.List("messages")
		for i := range messages {
			item, _ := c.Message(&messages[i], 0, func() ([]byte, error) { return piece, nil })
			body.Item(item)
		}
		body.EndList()
		pieces, _ := body.Close()
		io.Copy(io.Discard, pieces.Reader())
	}
}
