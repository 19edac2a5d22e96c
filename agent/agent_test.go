package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// recorder is a sink for tests: it stores the events.
type recorder struct {
	events []agent.Event
	also   func(agent.Event)
}

func (r *recorder) Event(e agent.Event) {
	r.events = append(r.events, e)
	if r.also != nil {
		r.also(e)
	}
}

// of returns the events of type E.
func of[E agent.Event](r *recorder) (found []E) {
	for _, e := range r.events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

func openStore(t testing.TB) *store.Store {
	t.Helper()
	s := store.New(filepath.Join(t.TempDir(), store.FileName), store.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func toolSet(t testing.TB, list ...tools.Tool) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

type nothing struct{}

// quick returns a tool with an immediate answer.
func quick(name string, readOnly bool) tools.Tool {
	return tools.New(tools.Tool{Name: name, Description: name, ReadOnly: readOnly, Kind: tools.KindOther},
		func(context.Context, *tools.Env, tools.Call, nothing) (tools.Result, error) {
			return tools.OK(map[string]string{"did": name}), nil
		})
}

// begin returns a session not yet in the store.
func begin(t testing.TB, c agent.Config) *agent.Session {
	t.Helper()
	if c.Store == nil {
		c.Store = openStore(t)
	}
	s, err := agent.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// load loads a stored session and reads its whole history.
func load(t testing.TB, c agent.Config) *agent.Session {
	t.Helper()
	s, err := agent.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Replay(t.Context(), &recorder{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func messages(t testing.TB, st *store.Store, id string) []store.Message {
	t.Helper()
	log, err := st.Messages(context.WithoutCancel(t.Context()), id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// checkLog reports an error if any endpoint would reject the history.
func checkLog(t testing.TB, log []model.Message) {
	t.Helper()
	var open []string
	seen := map[string]bool{}
	before := model.Role("")
	for i, m := range log {
		switch m.Role {
		case model.User:
			if len(open) > 0 || before != "" && before != model.Assistant {
				t.Errorf("message %d: a user's after %s, calls without result: %v", i+1, before, open)
			}
		case model.Assistant:
			if len(open) > 0 || before == model.Assistant || before == "" {
				t.Errorf("message %d: an assistant's after %q, calls without result: %v", i+1, before, open)
			}
			for _, c := range m.Calls() {
				if c.ID == "" || seen[c.ID] {
					t.Errorf("message %d: the id %q is empty or used before", i+1, c.ID)
				}
				checkObject(t, c.Args)
				seen[c.ID] = true
				open = append(open, c.ID)
			}
		case model.ToolRole:
			if len(open) == 0 || open[0] != m.CallID() {
				t.Fatalf("message %d: result of %q, expected %v", i+1, m.CallID(), open)
			}
			checkObject(t, m.Text())
			open = open[1:]
		default:
			t.Errorf("message %d: role %q", i+1, m.Role)
		}
		before = m.Role
	}
}

func checkObject(t testing.TB, text string) {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		t.Errorf("%q is no JSON object: %v", text, err)
	}
}

// checkGrowth reports an error unless each request extends the previous request. refused holds
// the indexes of the requests after a refused turn: they extend the last request before the
// turn by a prompt.
func checkGrowth(t testing.TB, requests []*model.Request, refused ...int) {
	t.Helper()
	for i := 1; i < len(requests); i++ {
		a, b := requests[i-1], requests[i]
		if slices.Contains(refused, i) {
			old := b.Messages[:len(b.Messages)-1]
			if n := len(old); n > 0 && len(old[n-1].Parts) == 0 { // between two messages of the user
				old = old[:n-1]
			}
			if !bytes.HasPrefix(encode(t, a.Messages), bytes.TrimSuffix(encode(t, old), []byte("]"))) {
				t.Errorf("request %d, after a refusal, changes the history: %s", i+1, encode(t, b.Messages))
			}
			continue
		}
		before, after := bytes.TrimSuffix(encode(t, a.Messages), []byte("]")), encode(t, b.Messages)
		if !bytes.HasPrefix(after, before) || len(b.Messages) <= len(a.Messages) {
			t.Errorf("request %d is no extension of the one before:\n%s\n%s", i+1, before, after)
		}
		if a.System != b.System || !bytes.Equal(encode(t, a.Tools), encode(t, b.Tools)) || a.SessionID != b.SessionID {
			t.Errorf("request %d has another head", i+1)
		}
	}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// bare returns the messages of a stored history without the fields of the store.
func bare(log []store.Message) (out []model.Message) {
	for _, m := range log {
		out = append(out, m.Message)
	}
	return out
}

// render returns a history as text, with a line for each message.
func render(log []store.Message) string {
	var b strings.Builder
	for _, m := range log {
		if m.Note {
			b.WriteString("note ")
		}
		switch m.Role {
		case model.ToolRole:
			fmt.Fprintf(&b, "tool %s %s: %s\n", m.CallID(), m.Name(), verdict(m))
		default:
			fmt.Fprintf(&b, "%s: %s\n", m.Role, strings.ReplaceAll(m.Text(), "\n", `\n`))
		}
		if m.Reasoning() != "" {
			fmt.Fprintf(&b, "\tthought: %s\n", m.Reasoning())
		}
		for _, c := range m.Calls() {
			fmt.Fprintf(&b, "\tcall %s %s %s\n", c.ID, c.Name, c.Args)
		}
	}
	return b.String()
}

func verdict(m store.Message) string {
	var fields map[string]any
	_ = json.Unmarshal([]byte(m.Text()), &fields)
	verdict := "ok"
	if m.IsError {
		verdict = "error"
	}
	if fields["note"] != nil {
		verdict += ", note"
	}
	return verdict
}

func count(list []string, want string) (n int) {
	for _, x := range list {
		if strings.Contains(x, want) {
			n++
		}
	}
	return n
}

func texts(log []model.Message) []string {
	return slices.Collect(func(yield func(string) bool) {
		for _, m := range log {
			if !yield(m.Text()) {
				return
			}
		}
	})
}
