//go:build unix

package codeexec

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/tools/file"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/shell"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

func TestMain(m *testing.M) {
	modes.Enter()
	if len(os.Args) == 4 && os.Args[1] == serverWord {
		os.Exit(serveStandIn(os.Args[2], os.Args[3]))
	}
	goleak.VerifyTestMain(m)
}

// bed is a session for scripts, with the real tools in a real workspace folder.
type bed struct {
	t      *testing.T
	dir    string
	runner *Runner
	set    *tools.Set
	env    *tools.Env

	mu    sync.Mutex
	news  []tools.Progress
	asked []tools.ApprovalRequest
	says  tools.Decision // to questions; empty: once
}

// AskPermission makes the bed the user of its session.
func (b *bed) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, q)
	if b.says != "" {
		return b.says, nil
	}
	return tools.DecisionOnce, nil
}

func newBed(t *testing.T, c Config, files map[string]string) *bed {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := openBed(dir, filepath.Join(t.TempDir(), "out"), c)
	if err != nil {
		t.Fatal(err)
	}
	b.t = t
	t.Cleanup(b.close)
	return b
}

// openBed opens a session in dir. Whole outputs go to out.
func openBed(dir, out string, c Config) (*bed, error) {
	ws, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		return nil, err
	}
	if c.Environ == nil {
		c.Environ = plainEnviron()
	}
	c.Files = ws
	b := &bed{dir: dir, runner: New(c)}
	b.env = &tools.Env{
		SessionID: "test",
		Gate:      gate.New(gate.Config{Mode: "ask", Asker: b}), OutputDir: out,
		Progress: func(p tools.Progress) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.news = append(b.news, p)
		},
	}
	return b, b.list()
}

// list makes the tools of the session with its bounds.
func (b *bed) list() (err error) {
	bounds := b.runner.cfg.Bounds
	all := slices.Concat(file.Tools(file.Config{Bounds: bounds}), shell.Tools(shell.Config{Bounds: bounds, Shell: shell.New(b.dir, nil)}), []tools.Tool{todo.Tool(tools.NewPlan())})
	if b.set, err = tools.NewSet(append(all, b.runner.Tool())...); err != nil {
		return err
	}
	b.set.Secrets = bounds.Secrets
	offered := map[string]bool{}
	for _, tool := range b.set.Offered(context.Background()) {
		offered[tool.Name] = true
	}
	b.env.Dispatch = tools.Dispatch{Set: b.set, Offered: func(name string) bool { return offered[name] }}
	return nil
}

// bound changes the bounds of the session. It works without a test, too.
func (b *bed) bound(change func(*tools.Bounds)) {
	change(&b.runner.cfg.Bounds)
	if err := b.list(); err != nil {
		panic(err)
	}
}

// sandboxed sets the sandbox of the session. The caller closes it.
func (b *bed) sandboxed(c sandbox.Config) *sandbox.Box {
	c.Roots = b.runner.cfg.Files.Folders
	box := sandbox.New(c)
	b.bound(func(bounds *tools.Bounds) { bounds.Sandbox = box })
	return box
}

func (b *bed) close() {
	b.runner.Close()
	b.runner.cfg.Files.Close() // a folder of the test's
}

// plainEnviron returns the environment without a virtual environment of Python.
func plainEnviron() []string {
	var env []string
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); name != "VIRTUAL_ENV" && name != "CONDA_PREFIX" && name != "PYTHONPATH" {
			env = append(env, kv)
		}
	}
	return env
}

// answer is a tool result, also of a failed call.
type answer struct {
	outcome
	Error string `json:"error"`
}

func (b *bed) call(ctx context.Context, args map[string]any) (answer, tools.Result) {
	b.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	result, _ := b.set.Call(ctx, b.env, tools.Call{ID: "c1", Name: "execute_code", Args: text})
	var a answer
	if err := json.Unmarshal(result.JSON, &a); err != nil {
		b.t.Fatalf("result %s: %v", result.JSON, err)
	}
	return a, result
}

// run runs a script that must succeed.
func (b *bed) run(code string) answer {
	b.t.Helper()
	a, result := b.call(b.t.Context(), map[string]any{"code": code})
	if a.Status != "success" {
		b.t.Fatalf("the script ended badly: %s", result.JSON)
	}
	return a
}

// fail runs a script that may fail.
func (b *bed) fail(code string) answer {
	b.t.Helper()
	a, _ := b.call(b.t.Context(), map[string]any{"code": code})
	return a
}

// timeIsUpAt makes each script time out when it has printed word, and not before.
func (b *bed) timeIsUpAt(word string) {
	var timer *time.Timer
	b.runner.after = func(_ time.Duration, over func()) *time.Timer {
		timer = time.AfterFunc(time.Hour, over)
		return timer
	}
	b.onOutput(word, func() { timer.Reset(0) })
}

// onOutput calls do once, when a script has printed word.
func (b *bed) onOutput(word string, do func()) {
	once, progress := sync.OnceFunc(do), b.env.Progress
	b.env.Progress = func(p tools.Progress) {
		progress(p)
		if len(p.Shown) == 2 && strings.Contains(p.Shown[1].Text, word) {
			once()
		}
	}
}

// maxWait is the limit of all waits: more than anything takes on a busy machine.
const maxWait = 2 * time.Minute

// eventually waits until a condition holds.
func eventually(t *testing.T, condition string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(maxWait); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", condition)
		}
	}
}
