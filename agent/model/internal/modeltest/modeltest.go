// Package modeltest provides servers that record requests, and requests, for tests of models.
package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

// Fine is a complete response with the text "ok".
const Fine = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// Tools returns tools with the names.
func Tools(names ...string) (tools []model.Tool) {
	for _, name := range names {
		tools = append(tools, model.Tool{Name: name})
	}
	return tools
}

// Hello returns a short request offering the tools.
func Hello(tools ...model.Tool) *model.Request {
	return &model.Request{System: "s", Messages: []model.Message{model.NewMessage(model.User, "hi")}, Tools: tools}
}

// Recorder answers with a function and stores the bodies and keys of the requests.
type Recorder struct {
	sync.Mutex
	Bodies [][]byte
	Keys   []string
	Answer func(n int, body []byte, w http.ResponseWriter) // nil: answers with Fine
}

func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.Lock()
	r.Bodies = append(r.Bodies, body)
	r.Keys = append(r.Keys, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
	n := len(r.Bodies)
	r.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Answer != nil {
		r.Answer(n, body, w)
		return
	}
	io.WriteString(w, Fine)
}

// Prompts returns the bodies of the requests to the model, without requests for metadata.
func (r *Recorder) Prompts() (all [][]byte) {
	for _, body := range r.Bodies {
		if len(body) > 0 {
			all = append(all, body)
		}
	}
	return all
}

// Ask sends a request. It returns the notices separately from the response.
func Ask(ctx context.Context, m model.Model, req *model.Request) (r *model.Reply, notices []string, err error) {
	r = new(model.Reply)
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return r, notices, err
		}
		if d.Notice != "" {
			notices = append(notices, d.Notice)
			continue
		}
		if r.Finish != "" {
			return r, notices, fmt.Errorf("%+v came after the finish", d)
		}
		r.Add(d)
	}
	if r.Finish == "" {
		return r, notices, errors.New("the stream ended without a finish and without an error")
	}
	return r, notices, nil
}

// Serve starts a server and returns a model using it with Chat Completions.
func Serve(t *testing.T, h http.HandlerFunc, change ...func(*client.Config)) *client.Model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c := client.Config{Endpoints: []client.Endpoint{{API: openai.API{}, Provider: "custom", BaseURL: s.URL + "/v1", Model: "m", Keys: []string{"sk-secret-one"}}}}
	for _, f := range change {
		f(&c)
	}
	m := client.New(c)
	t.Cleanup(m.Close)
	return m
}

// CheckError fails the test unless err is a [*model.Error] of a kind. Its text must contain
// message and no key.
func CheckError(t *testing.T, err error, kind model.ErrorKind, message string) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a *model.Error of kind %q", err, kind)
	}
	if e.Kind != kind || !strings.Contains(e.Message, message) {
		t.Errorf("error = %q: %v\nwant %q with %q", e.Kind, e, kind, message)
	}
	for at := err; at != nil; at = errors.Unwrap(at) {
		if strings.Contains(at.Error(), "secret") {
			t.Errorf("the key is in the error: %v", at)
		}
	}
	if e.Endpoint == "" || e.Model == "" {
		t.Errorf("error does not say where: %+v", e)
	}
	return e
}

// Shape lists the roles of a request's messages. It adds the number of pictures to user
// messages with pictures or after a tool result.
func Shape(t *testing.T, body []byte) string {
	t.Helper()
	var sent struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range sent.Messages {
		if n := bytes.Count(m.Content, []byte("data:image/png;base64,")); m.Role == "user" && (n > 0 || bytes.Contains(m.Content, []byte("[picture"))) {
			m.Role += ":" + string('0'+rune(n))
		}
		all = append(all, m.Role)
	}
	return strings.Join(all, " ")
}
