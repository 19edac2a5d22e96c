package agent_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/tools"
)

// TestVersion7Requests opens a store with schema version 7 and sends a prompt in each session.
// The requests must equal byte for byte the requests of the old version, in
// testdata/version7_requests.txtar.gz.
func TestVersion7Requests(t *testing.T) {
	t.Parallel()
	want := txtar.Parse(unzip(t, "testdata/version7_requests.txtar.gz"))
	if len(want.Files) < 20 {
		t.Fatalf("%d requests only", len(want.Files))
	}
	st := version7(t)
	sessions, _, err := st.List(t.Context(), store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string][]byte{}
	for _, head := range sessions {
		for _, to := range []client.Endpoint{
			{API: openai.API{}, Provider: "custom", BaseURL: "http://127.0.0.1:41209/v1", Model: cmp.Or(head.Preferred, head.Model)}, // as with the old version
			{API: openai.API{}, Provider: "openai", Model: "gpt-5", Keys: []string{"key"}},
		} {
			for n, body := range requestsOf(t, st, head.ID, to) {
				sent[head.ID+" "+to.Model+" "+string(rune('0'+n))] = body
			}
		}
	}
	for _, f := range want.Files {
		if got := string(sent[f.Name]) + "\n"; got != string(f.Data) {
			t.Errorf("%s:\n got %s\nwant %s", f.Name, got, f.Data)
		}
		delete(sent, f.Name)
	}
	for name := range sent {
		t.Errorf("%s: a further request", name)
	}
}

// version7 returns a copy of the old store.
func version7(t *testing.T) *store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), store.FileName)
	if err := os.WriteFile(path, unzip(t, "store/testdata/version7.db.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	st := store.New(path, store.Options{})
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func unzip(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// requestsOf forks the session and sends two prompts in the fork, because the session must not
// change.
func requestsOf(t *testing.T, st *store.Store, id string, to client.Endpoint) [][]byte {
	t.Helper()
	head, err := agent.Fork(t.Context(), st, id, "")
	if err != nil {
		t.Fatal(err)
	}
	wire := &requestLog{}
	to.Transport = wire
	s, err := agent.Load(t.Context(), agent.Config{Head: head, Store: st, Model: only{client.New(client.Config{Endpoints: []client.Endpoint{to}})}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"And now?", "Thank you."} {
		if _, err := s.Turn(t.Context(), agent.Input{Text: text}, &recorder{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range wire.bodies { // the id of the fork is new
		wire.bodies[i] = bytes.ReplaceAll(wire.bodies[i], []byte(head.ID), []byte("SESSION"))
	}
	return wire.bodies
}

// only is a model whose requests always name its endpoint's model.
type only struct{ model.Model }

func (o only) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	own := *r
	own.Model = ""
	return o.Model.Stream(ctx, &own)
}

// requestLog answers each chat completion and stores the requests.
type requestLog struct{ bodies [][]byte }

func (l *requestLog) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Header: http.Header{}, Request: r}
	if r.Method != http.MethodPost {
		return answer, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	l.bodies = append(l.bodies, body)
	answer.StatusCode = http.StatusOK
	answer.Header.Set("Content-Type", "text/event-stream")
	answer.Body = io.NopCloser(strings.NewReader(`data: {"choices":[{"index":0,"delta":{"reasoning_content":"Hm.","content":"Fine."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
	return answer, nil
}

// TestVersion7Plans opens the sessions of the old store. Each plan is the last result of todo
// in the history.
func TestVersion7Plans(t *testing.T) {
	t.Parallel()
	st := version7(t)
	sessions, _, err := st.List(t.Context(), store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	plans := 0
	for _, head := range sessions {
		var want struct{ Todos []tools.Todo }
		for _, m := range messages(t, st, head.ID) {
			if m.Name() == "todo" && !m.IsError {
				want.Todos = nil
				if err := json.Unmarshal([]byte(m.Text()), &want); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(want.Todos) > 0 {
			plans++
		}
		plan := tools.NewPlan()
		set := toolSet(t, todo.Tool(plan))
		s := load(t, agent.Config{Head: store.Session{ID: head.ID}, Model: fakemodel.Script(), Store: st, Tools: set, Plan: plan})
		if !slices.Equal(s.Todos(), want.Todos) {
			t.Errorf("%s: the plan is %v, want %v", head.ID, s.Todos(), want.Todos)
		}
	}
	if plans == 0 {
		t.Error("no session has a plan")
	}
}
