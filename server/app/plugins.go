package app

import (
	"context"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/extensions/plugins"
	"github.com/hermes-ls/hermes-ls/server"
)

// PluginOptions returns the options of plugins outside of a session.
func PluginOptions(home string) plugins.Options {
	return plugins.Options{
		Home:    home,
		Environ: outside(home),
	}
}

func pluginOptions(s *server.Service) plugins.Options {
	o := PluginOptions(s.Home)
	o.Environ = environOf(s)
	o.Transcript = func(ctx context.Context, id string) (string, error) { return exported(ctx, s, id) }
	return o
}

func enabledPlugins(c *config.Loaded) (any, error) {
	return plugins.Config{Settings: config.SectionOf[plugins.Settings](c, plugins.Section().Name), Getenv: c.Getenv}, nil
}

// PluginServers returns the MCP servers of enabled plugins, for a session in these folders.
func PluginServers(c *config.Loaded, folders []string) ([]mcp.Server, []error) {
	return plugins.Servers(c.Home, config.SectionOf[plugins.Settings](c, plugins.Section().Name), folders, c.Getenv)
}
