// Package web gives a session the web tools: pages are read, and, if a search engine is
// configured, the web is searched.
package web

import (
	"context"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/web"
)

// New returns the extension. Version is the program's, for servers to see. Its
// configuration section is a [web.Config].
func New(version string) extension.Extension { return feature{version} }

// Ahead has the tools describe their inputs, which they keep.
func Ahead() { _ = web.Tools(web.Config{}) }

type feature struct{ version string }

func (feature) Name() string { return "web" }

func (e feature) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{session: s, version: e.version}, nil
}

type instance struct {
	session *extension.Session
	version string
}

func (*instance) Close(context.Context) error { return nil }

// Tools returns the web tools. If the search engine's configuration has a mistake,
// there is no search; the session has told the user.
func (x *instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	var c web.Config
	_ = x.session.Config(&c)
	c.Version = x.version
	return web.Tools(c), nil
}
