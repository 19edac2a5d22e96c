// Package web gives a session the web tools: pages are read, and, if a search engine is
// configured, the web is searched.
package web

import (
	"context"
	"slices"
	"sync"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/web"
)

// Toolset is the toolset of the tools.
const Toolset = "web"

// New returns the extension. Version is the program's, for servers to see. Its
// configuration section is a [web.Config].
func New(version string) extension.Extension { return feature{version} }

// Preload makes the input schemas of the tools, which stay in memory.
func Preload() { _ = web.Tools(web.Config{}) }

type feature struct{ version string }

func (feature) Name() string { return "web" }

func (e feature) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{session: s, version: e.version}, nil
}

var _ extension.PageReader = (*instance)(nil)

type instance struct {
	session *extension.Session
	version string

	mu   sync.Mutex
	list []tools.Tool // as it was last returned
}

func (*instance) Close(context.Context) error { return nil }

// Tools returns the web tools. If the search engine's configuration is invalid, there is no search;
// the session has notified the user.
func (x *instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	var c web.Config
	_ = x.session.Config(&c)
	c.Version, c.Secrets = x.version, x.session.Bounds.Secrets
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = web.Tools(c)
	return slices.Clone(x.list), nil
}

// Page reads a page named by the user, by the rules of the tools.
func (x *instance) Page(ctx context.Context, address string) (title, text string, err error) {
	return x.reader().Read(ctx, address)
}

// Fetch returns the content of an address, by the rules of the tools.
func (x *instance) Fetch(ctx context.Context, address string) ([]byte, error) {
	return x.reader().Fetch(ctx, address)
}

func (x *instance) reader() web.Reader {
	var c web.Config
	_ = x.session.Config(&c)
	c.Version, c.Secrets = x.version, x.session.Bounds.Secrets
	return web.NewReader(c)
}

// Derive gives subagents and scripts the tools of the session, with its cache of pages.
func (x *instance) Derive(_ context.Context, kind extension.Kind, _ *extension.Session) (extension.Instance, error) {
	if kind == extension.Replay {
		return nil, nil
	}
	return derived{x}, nil
}

// derived holds the tools of a session.
type derived struct{ of *instance }

func (derived) Close(context.Context) error { return nil }

// Tools returns the session's current tools.
func (d derived) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	return slices.Clone(d.of.list), nil
}

// Derive gives a subagent's subagents and scripts the same.
func (d derived) Derive(ctx context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	return d.of.Derive(ctx, kind, s)
}
