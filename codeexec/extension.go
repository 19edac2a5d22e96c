package codeexec

import (
	"context"
	"reflect"
	"sync"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Toolset is the toolset of the tools.
const Toolset = "code_execution"

// Extension returns the extension. Its configuration section is a [Config]; set adds the parts
// shared by all sessions. Scripts get instances derived from the session's extensions.
func Extension(set func(*Config, *extension.Session)) extension.Extension { return scripts{set} }

type scripts struct {
	set func(*Config, *extension.Session)
}

func (scripts) Name() string { return "code_execution" }

func (e scripts) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{scripts: e, session: s}, nil
}

var _ extension.Interpreter = (*instance)(nil)

type instance struct {
	scripts
	session *extension.Session

	mu     sync.Mutex
	config Config
	runner *Runner  // nil until the session begins
	passed []string // by PassEnv
}

// Tools returns execute_code. The runner stays until the session is closed, because its scripts may
// keep variables. A runner without a script so far follows the configuration.
func (x *instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	var c Config
	if err := x.session.Config(&c); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.runner != nil && !x.runner.used.Load() && !reflect.DeepEqual(c, x.config) {
		x.runner.Close()
		x.runner = nil
	}
	if x.runner == nil {
		x.config = c
		x.set(&c, x.session)
		c.Bounds, c.Derive = x.session.Bounds, x.derive
		x.runner = New(c)
		x.runner.passed = x.passed
	}
	return []tools.Tool{x.runner.Tool()}, nil
}

// derive returns the extension instances for a script of the session.
func (x *instance) derive(ctx context.Context) (*extension.Set, error) {
	s := x.session
	return s.Extensions().Derive(ctx, extension.Script, extension.Own{ID: s.ID, Folders: s.Folders, Files: s.Files, Editor: s.Editor, Bounds: s.Bounds})
}

// Hooks takes variables for scripts.
func (x *instance) Hooks() extension.Hooks { return extension.Hooks{PassEnv: x.passEnv} }

// passEnv gives variables, such as "NAME=value", to the next scripts. An interpreter that keeps
// variables gets them at its next start.
func (x *instance) passEnv(vars []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.passed = set(x.passed, vars...)
	if x.runner == nil { // it gets them when it is made
		return
	}
	x.runner.passedMu.Lock()
	defer x.runner.passedMu.Unlock()
	x.runner.passed = x.passed
}

// Interpreter returns the path of the Python that runs scripts. It does not ask the user: it skips
// interpreters that require approval. If none is left, it returns "".
func (x *instance) Interpreter(ctx context.Context) string {
	x.mu.Lock()
	r := x.runner
	x.mu.Unlock()
	if r == nil {
		return ""
	}
	found, err := r.cfg.Pythons.Find(ctx, r.search(ctx, &tools.Env{}, tools.Call{}))
	if err != nil {
		return ""
	}
	return found.Path
}

// Close ends the kernel of persistent scripts.
func (x *instance) Close(context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.runner != nil {
		x.runner.Close()
	}
	return nil
}
