// Package shell gives a session its shell: the command tools, the working directory and exports
// shared by commands, and the background commands.
package shell

import (
	"context"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/backend"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// Toolset is the toolset of the tools.
const Toolset = shell.Toolset

// Config is the configuration section.
type Config struct {
	Program     string        // of the shell, by name or path; empty: the user's shell
	Timeout     time.Duration // of a command without another timeout; 0: the default
	Passthrough []string      // names of variables passed to commands although they look secret
}

// Options are the parts of a session used by its commands.
type Options struct {
	Terminals shell.Terminals // the editor's terminals; nil: it has none
	// Path returns the PATH of the first command, and PathFrom its source. Nil: the server's PATH.
	Path     userpath.Finder
	PathFrom func() string
	// Backend runs the commands; nil: this machine does. Broken is the reason why the
	// configured backend is missing, and every command fails with it.
	Backend backend.Backend
	Broken  error
}

// New returns the extension.
func New(o Options) extension.Extension { return feature{o} }

// Preload makes the input schemas of the tools, which stay in memory.
func Preload() { _ = shell.Tools(shell.Config{}) }

type feature struct{ Options }

func (feature) Name() string { return "shell" }

func (e feature) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	x := &instance{bounds: s.Bounds, Processes: shell.NewProcesses(s.Show), terminals: e.Terminals}
	x.shell = sync.OnceValues(func() (*shell.Shell, error) { return e.start(s) })
	return x, nil
}

// start returns the shell of a session. It is called when the session's tools are first listed,
// because it searches for programs.
func (e feature) start(s *extension.Session) (*shell.Shell, error) {
	var c Config
	if err := s.Config(&c); err != nil {
		return nil, err
	}
	var sh *shell.Shell
	if e.Backend != nil || e.Broken != nil {
		sh = shell.NewRemote(e.Backend, e.Broken, s.Editor.Folders()[0])
	} else {
		sh = shell.New(s.Editor.Folders()[0], c.Passthrough)
		sh.Use(c.Program)
		sh.Path, sh.PathFrom = e.Path, e.PathFrom
	}
	sh.Timeout = c.Timeout
	return sh, nil
}

var _ extension.Shell = (*instance)(nil)

type instance struct {
	*shell.Processes // nil: commands run in the foreground only
	bounds           tools.Bounds
	terminals        shell.Terminals
	shell            func() (*shell.Shell, error)
}

// order places the tools after the file tools.
const order = -90

// Tools returns the command tools.
func (x *instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	sh, err := x.shell()
	if err != nil {
		return nil, err
	}
	list := shell.Tools(shell.Config{Bounds: x.bounds, Shell: sh, Processes: x.Processes, Terminals: x.terminals})
	for i := range list {
		list[i].Order = order
	}
	return list, nil
}

// ShellName returns the name of the shell, such as "bash".
func (x *instance) ShellName() string {
	sh, err := x.shell()
	if err != nil {
		return ""
	}
	return sh.Name()
}

// Hooks takes variables for commands.
func (x *instance) Hooks() extension.Hooks { return extension.Hooks{PassEnv: x.passEnv} }

// passEnv gives variables to the next commands, such as "NAME=value".
func (x *instance) passEnv(vars []string) {
	if sh, err := x.shell(); err == nil {
		sh.Export(vars)
	}
}

// Notices returns the news of the background commands.
func (x *instance) Notices(context.Context, extension.When) []string { return x.Processes.Notices() }

// Derive gives a subagent a shell. It starts in the subagent's folder with the session's exports.
// Its background commands are separate, and the user gets no notices about them. A script shares
// the session's shell and runs commands in the foreground only.
func (x *instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	switch kind {
	case extension.Subagent:
		sh, err := x.shell()
		if err != nil {
			return nil, err
		}
		own := sh.Clone(s.Folders()[0])
		return &instance{bounds: s.Bounds, Processes: shell.NewProcesses(nil), shell: func() (*shell.Shell, error) { return own, nil }}, nil
	case extension.Script:
		return &instance{bounds: s.Bounds, shell: x.shell}, nil
	}
	return nil, nil
}
