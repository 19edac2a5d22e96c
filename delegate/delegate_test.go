package delegate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/files"
	"github.com/hermes-ls/hermes-ls/extensions/shell"
	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/tools/gate"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

func TestMain(m *testing.M) {
	modes.Enter()
	if dir := os.Getenv(victimDir); dir != "" {
		victim(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// step is a piece of a scripted reply.
type step struct {
	text   string
	tool   string // with args: a call
	args   string
	sleep  time.Duration
	err    error
	finish model.Finish
}

// scripted is a model with a script per session. It chooses the script by a text of the system
// prompt, or else of the first prompt. Usage is 10 in, 5 out per request.
type scripted struct {
	mu       sync.Mutex
	scripts  map[string][][]step
	requests map[string][]*model.Request // by session
	atOnce   int
	most     int
}

func (m *scripted) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		steps, done := m.begin(req)
		defer done()
		finish, calls := model.FinishStop, 0
		for _, s := range steps {
			if s.sleep > 0 {
				timer := time.NewTimer(s.sleep)
				select {
				case <-timer.C:
				case <-ctx.Done():
					timer.Stop()
				}
			}
			if ctx.Err() != nil {
				yield(model.Delta{}, ctx.Err())
				return
			}
			switch {
			case s.err != nil:
				yield(model.Delta{}, s.err)
				return
			case s.tool != "":
				finish = model.FinishCalls
				if !yield(model.Delta{Call: &model.CallDelta{Index: calls, ID: fmt.Sprintf("c%d_%d", len(req.Messages), calls), Name: s.tool, Args: s.args}}, nil) {
					return
				}
				calls++
			case s.text != "":
				if !yield(model.Delta{Text: s.text}, nil) {
					return
				}
			}
			if s.finish != "" {
				finish = s.finish
			}
		}
		yield(model.Delta{Finish: finish, Usage: &model.Usage{Input: 10, Output: 5}}, nil)
	}
}

func (m *scripted) begin(req *model.Request) (steps []step, done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests = map[string][]*model.Request{}
	}
	m.atOnce++
	m.most = max(m.most, m.atOnce)
	n := 0
	for _, before := range m.requests[req.SessionID] {
		if len(before.Messages) > 0 {
			n++
		}
	}
	m.requests[req.SessionID] = append(m.requests[req.SessionID], req)
	_, task, _ := strings.Cut(req.System, "# Your task")
	text := task + req.Messages[0].Text()
	steps = []step{{err: fmt.Errorf("no script for %q", text)}}
	best := ""
	for key, script := range m.scripts {
		if strings.Contains(text, key) && len(key) > len(best) {
			best = key
			steps = []step{{err: fmt.Errorf("request %d of %q, but the script has %d replies", n+1, key, len(script))}}
			if n < len(script) {
				steps = script[n]
			}
		}
	}
	return steps, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.atOnce--
	}
}

func say(text string) []step { return []step{{text: text}} }

func call(tool string, args any) []step {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return []step{{tool: tool, args: string(data)}}
}

type object = map[string]any

// recorder is a sink that records events.
type recorder struct {
	mu     sync.Mutex
	events []agent.Event
	also   func(agent.Event)
}

func (r *recorder) Event(e agent.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	if r.also != nil {
		r.also(e)
	}
}

func of[E agent.Event](r *recorder) (found []E) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

var defaultLimits = delegate.Limits{Children: 3, Depth: 1, Iterations: 50, Toolsets: []string{"terminal", "file", "web"}}

// bed is a delegating session with its test environment.
type bed struct {
	extensions *extension.Set
	t          testing.TB
	dir        string
	store      *store.Store
	model      *scripted
	limits     delegate.Limits
	sink       *recorder // of the children
	asker      tools.Asker
	ended      func()
	children   *delegate.Children
	parent     *agent.Session
	files      *workspace.Workspace
	plan       *tools.Plan
	room       int
	output     string // directory of complete outputs
	docs       workspace.Documents
	box        *sandbox.Box // bounds commands; nil: no bounds
	id         string
	agents     []delegate.Agent
}

func newBed(t testing.TB, scripts map[string][][]step, options ...func(*bed)) *bed {
	t.Helper()
	b := &bed{
		t: t, dir: t.TempDir(), model: &scripted{scripts: scripts}, sink: &recorder{},
		limits: defaultLimits, output: filepath.Join(t.TempDir(), "parent"),
	}
	b.store = store.New(filepath.Join(t.TempDir(), store.FileName), store.Options{})
	for _, o := range options {
		o(b)
	}
	b.open()
	t.Cleanup(func() {
		b.close()
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// tools lists the tools of the session, without delegation.
func (b *bed) tools() []tools.Tool {
	b.t.Helper()
	list, err := b.extensions.Tools(b.t.Context(), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// bounds returns the limits of the session's calls.
func (b *bed) bounds() tools.Bounds { return tools.Bounds{Files: b.files, Sandbox: b.box} }

// open starts or resumes the session.
func (b *bed) open() {
	b.t.Helper()
	var err error
	if b.files, err = workspace.Open([]string{b.dir}, b.docs); err != nil {
		b.t.Fatal(err)
	}
	b.plan = tools.NewPlan()
	b.extensions, err = extension.Open(b.t.Context(), []extension.Extension{todo.New(), files.New(nil), shell.New(shell.Options{})}, func(string) *extension.Session {
		return &extension.Session{Plan: b.plan, Folders: b.files.Folders, Files: b.files, Editor: b.files, Bounds: b.bounds(), Config: func(any) error { return nil }}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.children = delegate.New(delegate.Config{
		Extensions: func() *extension.Set { return b.extensions },
		Bounds:     b.bounds(), Sandbox: b.box, Store: b.store, Sink: b.sink, Ended: b.ended, Cwd: b.dir,
		Limits: func() delegate.Limits { return b.limits }, Agents: func() []delegate.Agent { return b.agents },
		Model: func(_ context.Context, route string) (delegate.Model, error) {
			if route == "nowhere" {
				return delegate.Model{}, fmt.Errorf("no route is named %q", route)
			}
			name := "parent-model"
			if route != "" {
				name = route
			}
			return delegate.Model{Model: b.model, Name: name}, nil
		},
	})
	set, err := tools.NewSet(append(b.tools(), b.children.Tool())...)
	if err != nil {
		b.t.Fatal(err)
	}
	set.Toolsets = []string{"file", "terminal", "web", "code_execution", "delegation", "clarify"}
	env := &tools.Env{
		Gate:      gate.New(gate.Config{Mode: "ask", Asker: b.asker}),
		OutputDir: b.output,
	}
	c := agent.Config{Head: store.Session{ID: b.id, Cwd: b.dir}, Model: b.model, Store: b.store, Tools: set, Env: env, Files: b.files, Plan: b.plan, Window: b.room, CompactAt: -1}
	if b.id == "" {
		b.parent, err = agent.New(b.t.Context(), c)
	} else {
		b.parent, err = agent.Load(b.t.Context(), c)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.id = b.parent.ID()
	lent := *env
	lent.SessionID, lent.Dispatch.Set = b.id, set
	b.children.SetEnv(&lent)
}

func (b *bed) close() {
	if err := b.children.Close(context.Background()); err != nil {
		b.t.Error(err)
	}
	if err := b.files.Close(); err != nil {
		b.t.Error(err)
	}
}

// prompt runs a turn of the parent, with the subagents' notices.
func (b *bed) prompt(text string) agent.StopReason {
	b.t.Helper()
	in := agent.Input{Text: text}
	if news := b.children.Notice(b.t.Context(), b.id); news != "" {
		in.News = []string{news}
	}
	stop, err := b.parent.Turn(b.t.Context(), in, &recorder{})
	if err != nil {
		b.t.Errorf("%q: %v", text, err)
	}
	b.children.Confirm()
	return stop
}

func (b *bed) log(id string) []store.Message {
	b.t.Helper()
	log, err := b.store.Messages(context.WithoutCancel(b.t.Context()), id, 0, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return log
}

// answer returns the result of the parent's newest call.
func (b *bed) answer() (a answer) {
	b.t.Helper()
	log := b.log(b.id)
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Role == model.ToolRole {
			if err := json.Unmarshal([]byte(log[i].Text()), &a); err != nil {
				b.t.Fatalf("%v in %s", err, log[i].Text())
			}
			a.text = log[i].Text()
			return a
		}
	}
	b.t.Fatal("no result")
	return a
}

// answer is a result of delegate_task in the form for the model.
type answer struct {
	Error   string
	Results []struct {
		Index    int `json:"task_index"`
		Status   string
		Summary  string
		Output   json.RawMessage
		Misfit   string  `json:"output_errors"`
		Calls    int     `json:"api_calls"`
		Duration float64 `json:"duration_seconds"`
		Model    string
		Exit     string `json:"exit_reason"`
		Tokens   struct{ Input, Output int }
		Trace    []struct {
			Tool, Status string
			Duration     *float64 `json:"duration_seconds"`
		} `json:"tool_trace"`
		Session string `json:"session_id"`
		Changes *worktree.Merge
		Error   string
	}
	Total     *float64          `json:"total_duration_seconds"`
	Subagents []delegate.Status `json:"subagents"`
	Running   []delegate.Status `json:"running"`
	Status    string
	text      string
}

// checkLog checks a history against the rules of all endpoints.
func (b *bed) checkLog(id string) {
	b.t.Helper()
	var open []string
	for i, m := range b.log(id) {
		switch m.Role {
		case model.Assistant:
			for _, c := range m.Calls() {
				open = append(open, c.ID)
			}
		case model.ToolRole:
			if len(open) == 0 || open[0] != m.CallID() || !json.Valid([]byte(m.Text())) {
				b.t.Fatalf("message %d: result of %q, expected %v: %s", i+1, m.CallID(), open, m.Text())
			}
			open = open[1:]
		case model.User:
			if len(open) > 0 {
				b.t.Errorf("message %d: a prompt before the results of %v", i+1, open)
			}
		}
	}
	if len(open) > 0 {
		b.t.Errorf("calls without result: %v", open)
	}
}

func (b *bed) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func tasks(goals ...string) object {
	list := make([]object, len(goals))
	for i, g := range goals {
		list[i] = object{"goal": g}
	}
	return object{"tasks": list}
}
