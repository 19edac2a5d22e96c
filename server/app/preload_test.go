package app_test

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// TestPreload finds features with slow schemas, for which the first prompt of a session waits. The
// tools for resources of MCP servers exist only with such servers.
func TestPreload(t *testing.T) {
	t.Parallel()
	svc := app.New(server.Options{Home: t.TempDir(), Environ: []string{}, Static: true})
	t.Cleanup(func() { _ = svc.Close() })
	for _, f := range app.Features(svc) {
		switch {
		case f.Toolset == "" || f.Toolset == mcp.ResourceToolset:
		case f.Preload == nil:
			t.Errorf("the feature with the toolset %s has no Preload", f.Toolset)
		default:
			f.Preload()
		}
	}
}
