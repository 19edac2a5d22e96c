// Package lsp offers the tool lsp to the model: symbols, references, problems, renames and fixes
// from language servers. The servers of the editor answer first, because they are warm. If they do
// not answer for a file, a server of our own does (package own). The package also reports new
// problems of an edit to the file tools if a server of our own runs.
//
// Nothing is started before the model calls the tool. Answers of servers are data: edits are
// applied like the model's, and no command of a server is executed.
package lsp

import (
	"context"
	"slices"
	"sync"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/lsp/own"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Toolset is the toolset of the tool.
const Toolset = "lsp"

// Options are the parts of a session used by the extension.
type Options struct {
	// Environ is the environment of servers, without secrets.
	Environ []string
	// Path returns the PATH of servers. Nil: Environ's PATH.
	Path userpath.Finder
	// Log gets the messages of servers. It may be nil.
	Log func(server, line string)
}

// New returns the extension.
func New(o Options) extension.Extension { return feature{o} }

// Preload makes the input schema of the tool, which stays in memory.
func Preload() { _ = (&Instance{}).tool() }

type feature struct{ options Options }

func (feature) Name() string { return "lsp" }

func (f feature) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	python := func(ctx context.Context) string {
		scripts, ok := s.Extensions().Interpreter()
		if !ok {
			return ""
		}
		return scripts.Interpreter(ctx)
	}
	return &Instance{options: f.options, session: s, editor: s.LanguageServers, python: python}, nil
}

// Instance is the extension in a session.
type Instance struct {
	options Options
	session *extension.Session
	editor  extension.ServerQuery
	python  func(context.Context) string // returns the Python of scripts, or ""
	of      *Instance                    // the session whose servers a subagent uses; nil: it uses its own

	mu      sync.Mutex
	files   tools.Files  // for reads other than the model's
	servers *own.Servers // nil: none was needed
	closed  bool
}

// Close ends the servers.
func (x *Instance) Close(context.Context) error {
	x.mu.Lock()
	x.closed = true
	servers, files := x.servers, x.files
	x.mu.Unlock()
	if servers != nil {
		servers.Close()
	}
	if files != nil {
		return files.Close()
	}
	return nil
}

// Tools returns the tool if the editor answers, or if a server is installed. A stored session
// keeps it.
func (x *Instance) Tools(ctx context.Context, stored []tools.Spec) ([]tools.Tool, error) {
	t := x.tool()
	had := slices.ContainsFunc(stored, func(s tools.Spec) bool { return s.Name == t.Name })
	if stored != nil && !had || stored == nil && !x.offered(ctx) {
		return nil, nil
	}
	return []tools.Tool{t}, nil
}

func (x *Instance) offered(ctx context.Context) bool {
	settings := x.settings()
	if settings.editor() && x.editor != nil {
		return true
	}
	return settings.own() && tools.Local(x.session.Files) != nil && x.own() != nil && x.own().Any(ctx)
}

// Derive gives a subagent the servers of the session. If it works in other folders, it gets
// separate servers, and no editor answers for these folders. Scripts get nothing.
func (x *Instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	d := &Instance{options: x.options, session: s, python: x.python}
	if s.Folders()[0] == x.session.Folders()[0] {
		d.editor, d.of = x.editor, x
	}
	return d, nil
}

func (x *Instance) settings() (s Settings) {
	s = Section().Defaults.(Settings)
	if x.session != nil && x.session.Config != nil {
		_ = x.session.Config(&s) // the session has reported it
	}
	return s
}

// own returns the servers of the session. If there can be none, it returns nil.
func (x *Instance) own() *own.Servers {
	if x.of != nil {
		return x.of.own()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.servers != nil || x.closed || tools.Local(x.session.Files) == nil {
		return x.servers
	}
	files, err := tools.ForkFiles(x.session.Files)
	if err != nil {
		return nil
	}
	log := x.options.Log
	if log == nil {
		log = func(string, string) {}
	}
	x.files = files
	x.servers = own.New(own.Config{
		Limits:  func() own.Limits { return x.settings().limits() },
		Folders: x.session.Folders, Files: files, Confine: x.session.ConfineReader,
		Environ: x.options.Environ, Path: x.options.Path, Interpreter: x.python, Log: log, Notify: x.session.Notify,
	})
	return x.servers
}

// reader returns the files for reads other than the model's.
func (x *Instance) reader() tools.Files {
	if x.of != nil {
		return x.of.reader()
	}
	x.own()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.files == nil {
		if files, err := tools.ForkFiles(x.session.Files); err == nil {
			x.files = files
		} else {
			return x.session.Files
		}
	}
	return x.files
}
