// Package web gives a session the web tools: pages are read, and, if a search engine is
// configured, the web is searched.
package web

import (
	"context"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// New returns the extension. Version is the program's, for servers to see. Its
// configuration section is a [tools.WebConfig].
func New(version string) extension.Extension { return web{version} }

type web struct{ version string }

func (web) Name() string { return "web" }

func (e web) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
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
	var c tools.WebConfig
	_ = x.session.Config(&c)
	c.Version = x.version
	return tools.Web(c), nil
}
