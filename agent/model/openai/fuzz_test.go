package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

// body is a round tripper with a fixed response of status 200, in small reads.
type body struct {
	text string
	size int
}

func (b body) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(&small{strings.NewReader(b.text), b.size})}, nil
}

type small struct {
	r    io.Reader
	size int
}

func (s *small) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.size)]) }

// FuzzStream checks the end of streams: a single finish or [*model.Error]. The size of the
// reads must not matter.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) < 10 {
		f.Fatalf("seeds: %q, %v", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), 7)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		whole, wholeErr := streamed(t, text, 1<<20)
		cut, cutErr := streamed(t, text, 1+max(0, size)%50)
		if whole.Text != cut.Text || whole.Reasoning != cut.Reasoning || whole.Finish != cut.Finish || len(whole.Calls) != len(cut.Calls) || (wholeErr == nil) != (cutErr == nil) {
			t.Errorf("in one piece %+v, %v; cut %+v, %v", whole, wholeErr, cut, cutErr)
		}
	})
}

func streamed(t *testing.T, text string, size int) (*model.Reply, error) {
	m := client.New(client.Config{Transport: body{text, size}, Endpoints: []client.Endpoint{{API: openai.API{}, BaseURL: "http://fuzz.test", Model: "m"}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := new(model.Reply)
	for d, err := range m.Stream(ctx, &model.Request{Messages: []model.Message{model.NewMessage(model.User, "x")}, Tools: []model.Tool{{Name: "read_file"}}}) {
		var known *model.Error
		switch {
		case err != nil && r.Finish != "":
			t.Fatalf("an error after the finish: %v", err)
		case err != nil && !errors.As(err, &known):
			t.Fatalf("an error of another kind: %v", err)
		case err != nil:
			return r, err
		case r.Finish != "":
			t.Fatalf("%+v after the finish", d)
		case d.Notice != "": // the stream would wait and retry
			cancel()
			return r, errors.New(d.Notice)
		}
		r.Add(d)
	}
	if r.Finish == "" {
		t.Fatal("no finish and no error")
	}
	return r, nil
}
