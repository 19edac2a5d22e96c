package app_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/tools"
)

// tester is an extension that records its rights.
type tester struct {
	mu  sync.Mutex
	got map[extension.Kind]*extension.Session
}

func (*tester) Name() string { return "tester" }

func (e *tester) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.got[s.Kind] = s
	return testerInstance{e}, nil
}

type testerInstance struct{ *tester }

func (testerInstance) Close(context.Context) error { return nil }

func (x testerInstance) Derive(ctx context.Context, _ extension.Kind, s *extension.Session) (extension.Instance, error) {
	return x.Open(ctx, s)
}

// asked is a host that records the questions, and allows.
type asked struct {
	guest
	questions []tools.ApprovalRequest
}

func (a *asked) Sink(string) agent.Sink { return a }

func (a *asked) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions = append(a.questions, q)
	return tools.DecisionOnce, nil
}

// An extension can spawn a subagent. Its instance in the subagent keeps the rights of the session:
// it asks the same user in the subagent's name, reads the same section and redacts the same
// secrets.
func TestRightsOfSubagents(t *testing.T) {
	t.Parallel()
	type settings struct {
		Word string `json:"word"`
	}
	m := fakemodel.Script(says("Hello"), says("It is green."))
	ext := &tester{got: map[extension.Kind]*extension.Session{}}
	s := server.New(server.Options{
		Home: t.TempDir(), Environ: []string{"TEST_API_KEY=s3cret-s3cret-s3cret"}, Model: m, Static: true,
		Features: func(s *server.Service) []server.Feature {
			return append(app.Features(s), server.Feature{Extension: ext, Settings: &config.Section{Name: "tester", Defaults: settings{"green"}}})
		},
	})
	t.Cleanup(func() { _ = s.Close() })
	host := &asked{}
	x, err := s.NewSession(t.Context(), server.Place{Cwd: t.TempDir()}, host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ext.got[extension.Main].Spawn(t.Context(), extension.Task{Goal: "Too early"}); err == nil {
		t.Error("a session without a prompt has spawned a subagent")
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "hi"}, nil); err != nil {
		t.Fatal(err)
	}
	report, err := ext.got[extension.Main].Spawn(t.Context(), extension.Task{Goal: "Look at the color", Toolsets: []string{"file"}})
	if err != nil || report != (extension.Report{Summary: "It is green.", Status: "completed"}) {
		t.Fatalf("%+v, %v", report, err)
	}
	child := ext.got[extension.Subagent]
	var c settings
	if err := child.Config(&c); err != nil || c.Word != "green" {
		t.Errorf("section %+v, %v", c, err)
	}
	if text := child.Redact("the key is s3cret-s3cret-s3cret"); strings.Contains(text, "s3cret") {
		t.Errorf("redacted: %s", text)
	}
	if err := child.Ask.Approve(t.Context(), extension.Request{Kind: tools.KindOther, Title: "paint it", Reason: "paints", Call: tools.Call{Args: json.RawMessage(`{}`)}}); err != nil {
		t.Error(err)
	}
	if q := host.questions; len(q) != 1 || q[0].SessionID != x.ID() || q[0].Subagent != child.ID || q[0].For != "Look at the color" {
		t.Errorf("asked %+v", q)
	}
	if child.Ask.CanClarify() {
		t.Error("a subagent can ask questions")
	}
	child.Notify("painted")
	child.Wake()
	if all := strings.Join(host.text, "\n"); !strings.Contains(all, "notice: painted") {
		t.Errorf("the user saw %q", all)
	}
	if err := child.State.Save(t.Context(), "color", "green"); err != nil {
		t.Error(err)
	}
	if has, err := ext.got[extension.Main].State.Load(t.Context(), "color", new(string)); has || err != nil {
		t.Errorf("the parent has the subagent's state: %v", err)
	}
	if _, err := child.Spawn(t.Context(), extension.Task{Goal: "Go deeper"}); err == nil || !strings.Contains(err.Error(), "max_spawn_depth") {
		t.Errorf("spawning from a subagent: %v", err)
	}
}
