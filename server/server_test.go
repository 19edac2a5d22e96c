package server

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/tools/shell"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

func TestMain(m *testing.M) {
	modes.Enter()
	goleak.VerifyTestMain(m)
}

// guest is a host that records events and denies requests.
type guest struct {
	mu     sync.Mutex
	events []agent.Event
}

func (g *guest) Documents(string) workspace.Documents { return nil }
func (g *guest) Terminals(string) shell.Terminals     { return nil }
func (g *guest) Sink(string) agent.Sink               { return g }
func (g *guest) AskPermission(context.Context, tools.ApprovalRequest) (tools.Decision, error) {
	return tools.DecisionDeny, nil
}

func (g *guest) Event(e agent.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events = append(g.events, e)
}

func (g *guest) notices() (all []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.events {
		if n, ok := e.(agent.Notice); ok {
			all = append(all, n.Text)
		}
	}
	return all
}

// TestFeatures are the extensions of the tests' sessions.
var TestFeatures func(*Service) []Feature

func open(t testing.TB, o Options) *Service {
	t.Helper()
	if o.Home == "" {
		o.Home = t.TempDir()
	}
	o.Environ = []string{}
	o.Features = TestFeatures
	s := New(o)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func session(t testing.TB, s *Service, cwd string) (*Session, *guest) {
	t.Helper()
	g := &guest{}
	x, err := s.NewSession(t.Context(), Place{Cwd: cwd}, g)
	if err != nil {
		t.Fatal(err)
	}
	return x, g
}

func answer(text string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) { x.Text(text); x.End() }
}

func prompt1(t testing.TB, x *Session, text string) {
	t.Helper()
	if stop, err := x.Prompt(t.Context(), agent.Input{Text: text}, nil); stop != agent.EndTurn || err != nil {
		t.Fatalf("%q: %s, %v", text, stop, err)
	}
}

func TestNothingIsTouchedBeforeItIsNeeded(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	s := open(t, Options{Home: home, Model: fakemodel.Script(answer("hi")), Static: true})
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home folder was made before a session: %v", err)
	}
	x, _ := session(t, s, t.TempDir())
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home folder was made before a prompt: %v", err)
	}
	prompt1(t, x, "hi")
	if _, err := os.Stat(filepath.Join(home, "hermes-ls.db")); err != nil {
		t.Error(err)
	}
}

func TestReplayAndTurnsDoNotMix(t *testing.T) {
	t.Parallel()
	m := fakemodel.New()
	s := open(t, Options{Model: m})
	x, _ := session(t, s, t.TempDir())
	turn := x.Start(agent.Input{Text: "one"}, nil)
	if _, err := x.StartReplay(&guest{}); !errors.Is(err, ErrRunning) {
		t.Errorf("a replay beside a turn: %v", err)
	}
	ended := make(chan agent.StopReason)
	go func() { stop, _ := turn.Run(t.Context()); ended <- stop }()
	e := m.Next()
	e.Text("1")
	e.End()
	<-ended

	replay, err := x.StartReplay(&guest{})
	if err != nil {
		t.Fatal(err)
	}
	next := x.Start(agent.Input{Text: "two"}, nil)
	go func() { stop, _ := next.Run(t.Context()); ended <- stop }()
	select {
	case <-next.first:
		t.Error("a prompt did not wait for the replay")
	default:
	}
	if _, err := replay.Run(t.Context()); err != nil {
		t.Error(err)
	}
	e = m.Next()
	e.Text("2")
	e.End()
	if stop := <-ended; stop != agent.EndTurn {
		t.Errorf("the prompt behind the replay ended with %s", stop)
	}
}

func TestAWaitingTurnLeavesTheQueue(t *testing.T) {
	t.Parallel()
	m := fakemodel.New()
	home := t.TempDir()
	save(t, home, "agent: {on_new_prompt: queue}\n")
	x, _ := session(t, open(t, Options{Home: home, Model: m}), t.TempDir())
	turns := []*Turn{x.Start(agent.Input{Text: "0"}, nil), x.Start(agent.Input{Text: "1"}, nil), x.Start(agent.Input{Text: "2"}, nil)}
	stops := make([]chan agent.StopReason, 3)
	middle, cancel := context.WithCancel(t.Context())
	for i, turn := range turns {
		stops[i] = make(chan agent.StopReason, 1)
		ctx := t.Context()
		if i == 1 {
			ctx = middle
		}
		go func() { stop, _ := turn.Run(ctx); stops[i] <- stop }()
	}
	first := m.Next()
	cancel()
	if stop := <-stops[1]; stop != agent.Cancelled {
		t.Errorf("the cancelled one ended with %s", stop)
	}
	first.Text("x")
	first.End()
	last := m.Next()
	if got := last.Request.Messages[len(last.Request.Messages)-1].Text(); got != "2" {
		t.Errorf("then came %q", got)
	}
	if !x.Cancel() || <-stops[0] != agent.EndTurn || <-stops[2] != agent.Cancelled {
		t.Error("the first should have ended, the last been cancelled")
	}
	if x.Cancel() || x.Running() {
		t.Error("something still runs")
	}
}

func TestAlsoSeesItsTurnOnly(t *testing.T) {
	t.Parallel()
	x, all := session(t, open(t, Options{Model: fakemodel.Script(answer("one"), answer("two"))}), t.TempDir())
	one := &guest{}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "1"}, one); err != nil {
		t.Fatal(err)
	}
	n := len(one.events)
	prompt1(t, x, "2")
	if n == 0 || len(one.events) != n || len(all.events) <= n {
		t.Errorf("the turn's sink saw %d then %d events, the host's %d", n, len(one.events), len(all.events))
	}
}

// stubborn is a model that ignores its context.
type stubborn struct{ begun, release chan struct{} }

func (m stubborn) Stream(context.Context, *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		close(m.begun)
		<-m.release
		yield(model.Delta{Finish: model.FinishStop}, nil)
	}
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	m := stubborn{make(chan struct{}), make(chan struct{})}
	s := open(t, Options{Model: m})
	x, _ := session(t, s, t.TempDir())
	turn := x.Start(agent.Input{Text: "go"}, nil)
	ended := make(chan struct{})
	go func() { _, _ = turn.Run(t.Context()); close(ended) }()
	<-m.begun
	if err := s.Close(); err != nil {
		t.Errorf("closing beside a turn that does not end: %v", err)
	}
	close(m.release)
	<-ended
	if _, err := s.NewSession(t.Context(), Place{Cwd: t.TempDir()}, &guest{}); err == nil {
		t.Error("a session was opened after Close")
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "x"}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a prompt after Close: %v", err)
	}
	_ = x.close(t.Context()) // the parts that had no time: they would write into the test's folders
}

func TestListInPages(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Model: fakemodel.New(), Static: true})
	st := s.theStore("")
	here, there := t.TempDir(), t.TempDir()
	began := time.Now().Add(-time.Hour)
	for i := range 2*pageSize + 3 {
		cwd := here
		if i%3 == 0 {
			cwd = there
		}
		at := began.Add(time.Duration(i) * time.Second)
		if err := st.Create(t.Context(), store.Session{ID: store.NewID(), Cwd: cwd, CreatedAt: at, UpdatedAt: at}); err != nil {
			t.Fatal(err)
		}
	}
	draft, _ := session(t, s, here)
	for _, c := range []struct {
		cwd  string
		want int
	}{{"", 2*pageSize + 4}, {here, 69}, {there, 35}, {t.TempDir(), 0}} {
		var all []string
		for cursor, first := "", true; first || cursor != ""; first = false {
			page, next, err := s.List(t.Context(), c.cwd, cursor)
			if err != nil {
				t.Fatal(err)
			}
			if first && c.want > 0 && c.cwd != there && page[0].ID != draft.ID() {
				t.Error("the newest session is not the first")
			}
			for _, x := range page {
				all = append(all, x.ID)
			}
			cursor = next
		}
		if slices.Sort(all); len(all) != c.want || len(slices.Compact(all)) != c.want {
			t.Errorf("in %q: %d sessions, want %d", c.cwd, len(all), c.want)
		}
	}
}

func TestDeleteTouchesNothingElse(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := open(t, Options{Home: home, Model: fakemodel.Script(answer("hi"))})
	x, _ := session(t, s, t.TempDir())
	prompt1(t, x, "hi")
	kept := filepath.Join(home, "kept", "file")
	own := filepath.Join(s.outputDir(x.ID()), "output.txt")
	for _, path := range []string{kept, own} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"../kept", "..", ".", "", "unknown", x.ID()} {
		if err := s.Delete(t.Context(), id); (err == nil) != (id == x.ID()) || err != nil && !errors.Is(err, ErrNoSession) {
			t.Errorf("deleting %q: %v", id, err)
		}
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(own); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the outputs are still there: %v", err)
	}
}

func save(t testing.TB, home, text string) {
	t.Helper()
	if err := os.WriteFile(config.Path(home), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestConfigurationIsFollowed(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := open(t, Options{Home: home, Model: fakemodel.Script(answer("hi"))})
	x, g := session(t, s, t.TempDir())
	within := func(what string, holds func() bool) {
		t.Helper()
		for begun := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
			if time.Since(begun) > 2*time.Minute {
				t.Fatal(what)
			}
		}
	}
	// The watcher may not be ready yet. One change that it sees is enough.
	within("the mode does not follow", func() bool {
		save(t, home, "approvals: {mode: off}\n")
		time.Sleep(200 * time.Millisecond)
		return x.Mode() == ModeAuto
	})
	save(t, home, "approvals: {mode: [\n")
	prompted := func() bool {
		x.notifier.mu.Lock()
		defer x.notifier.mu.Unlock()
		return len(x.notifier.pending) > 0
	}
	within("the broken file is not noticed", prompted)
	if x.Mode() != ModeAuto {
		t.Error("the broken file counts")
	}
	prompt1(t, x, "hi")
	if n := g.notices(); len(n) != 1 || !strings.Contains(n[0], "config.yaml") {
		t.Errorf("notices %q", n)
	}
	if err := x.SetMode(t.Context(), ModeAsk); err != nil {
		t.Fatal(err)
	}
	save(t, home, "approvals: {mode: off}\nagent: {on_new_prompt: queue}\n")
	within("the new file is not loaded", func() bool {
		return x.settings.config().Agent.OnNewPrompt == "queue"
	})
	if x.Mode() != ModeAsk {
		t.Error("the session's own mode was overruled")
	}
}

func TestARepositoryCannotChooseTheMode(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	if err := os.MkdirAll(filepath.Join(ws, ".hermes"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws, ".hermes", "config.yaml"), []byte("approvals: {mode: off}\nmodel: {base_url: 'http://evil'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Model: fakemodel.New()})
	s.SetEditor([]byte(`{"approvals":{"mode":"off"}}`))
	x, _ := session(t, s, ws)
	if x.Mode() != ModeAsk || x.settings.config().Model.BaseURL != "" {
		t.Errorf("mode %s, base_url %q", x.Mode(), x.settings.config().Model.BaseURL)
	}
	s.SetInit([]byte(`{"approvals":{"mode":"off"}}`))
	if x, _ := session(t, s, ws); x.Mode() != ModeAuto {
		t.Error("initializationOptions do not count")
	}
}

func TestModelsAreSharedByConfiguration(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	s.SetInit([]byte(`{"model":{"provider":"ollama","default":"a","fallback":["b","c"]}}`))
	models := map[string]model.Model{}
	for _, choice := range []string{"", "a", "b", "b"} {
		x, _ := session(t, s, t.TempDir())
		if choice != "" {
			if err := x.SetOption(t.Context(), "model", choice); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.settings.ready(); err != nil {
			t.Fatal(err)
		}
		if have := models[choice]; have != nil && have != x.settings.model.Current() {
			t.Errorf("a second model for %q", choice)
		}
		models[choice] = x.settings.model.Current()
	}
	if models[""] != models["a"] || models["a"] == models["b"] {
		t.Error("the models are not shared as the configuration is")
	}
}

func TestNotConfigured(t *testing.T) {
	t.Parallel()
	x, g := session(t, open(t, Options{}), t.TempDir())
	_, err := x.Prompt(t.Context(), agent.Input{Text: "hi"}, nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.ErrNoKey || !strings.Contains(err.Error(), "hermes-ls setup") {
		t.Errorf("%v", err)
	}
	if len(g.events) > 0 {
		t.Errorf("events %v", g.events)
	}
}

func TestProjectNotesAndFrozenPrompt(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "AGENTS.md"), []byte("Always whistle."), 0o600); err != nil {
		t.Fatal(err)
	}
	m := fakemodel.Script(answer("hi"), answer("hi"))
	x, _ := session(t, open(t, Options{Model: m}), ws)
	prompt1(t, x, "hi")
	if err := os.WriteFile(filepath.Join(ws, "AGENTS.md"), []byte("Never whistle."), 0o600); err != nil {
		t.Fatal(err)
	}
	prompt1(t, x, "hi")
	one, two := m.Requests()[0], m.Requests()[1]
	if !strings.Contains(one.System, "Always whistle.") || one.System != two.System || len(one.Tools) < 6 || len(one.Tools) != len(two.Tools) {
		t.Errorf("%d and %d tools, system prompts equal: %v", len(one.Tools), len(two.Tools), one.System == two.System)
	}
}

func TestUnknownToolset(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Model: fakemodel.New()})
	s.SetInit([]byte(`{"agent":{"tools":{"enabled":["fiel"]}}}`))
	x, _ := session(t, s, t.TempDir())
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "hi"}, nil); err == nil || !strings.Contains(err.Error(), "fiel") || !strings.Contains(err.Error(), "file") {
		t.Errorf("%v", err)
	}
}

// An id that is no name opens no session and leads out of no folder.
func TestOddIDs(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: t.TempDir(), Model: fakemodel.New(), Static: true})
	for _, id := range []string{"..", "../..", ".", "/etc", "a/b", "a\x00"} {
		if x, err := s.NewSession(t.Context(), Place{Cwd: t.TempDir(), ID: id}, nil); err == nil || !strings.Contains(err.Error(), "the id is not valid") {
			t.Errorf("%q: %v, %v", id, x, err)
		}
		if dir := s.outputDir(id); filepath.Dir(dir) != filepath.Join(s.Home, "sessions") {
			t.Errorf("%q: %s", id, dir)
		}
	}
}

// The store is opened as soon as there is a session, so its first prompt does not wait. Before the
// session, it is opened only if it exists.
func TestStoreIsOpenedAhead(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := open(t, Options{Home: home, Model: fakemodel.Script(answer("hi")), Static: true})
	there := func() bool {
		s.watched.Wait()
		_, err := os.Stat(filepath.Join(home, store.FileName))
		return err == nil
	}
	s.Warm()
	if there() || s.opened() != nil {
		t.Error("a store was made before there was a session")
	}
	x, _ := session(t, s, t.TempDir())
	if there() {
		t.Error("a store was made before the client was told of the session")
	}
	x.Warm()
	if !there() {
		t.Error("the store was not opened ahead")
	}
	prompt1(t, x, "go")
	next := open(t, Options{Home: home, Static: true})
	next.Warm()
	if next.opened() == nil {
		t.Error("a store that is there was not opened")
	}
}
