package app

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	hookscli "github.com/hermes-ls/hermes-ls/extensions/hooks/cli"
	mcpcli "github.com/hermes-ls/hermes-ls/extensions/mcp/cli"
	pluginscli "github.com/hermes-ls/hermes-ls/extensions/plugins/cli"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/mcpserve"
)

// Home returns the program for commands and checks of features. version is the version of hermes-ls.
func Home(version string) cli.Home {
	return cli.Home{Version: version, Schema: Config, Path: Path, Secrets: Secrets}
}

// Commands returns the commands of the features.
func Commands(h cli.Home) []*cobra.Command { return server.CommandsOf(Features, h) }

// Doctor runs the checks of the features.
func Doctor(ctx context.Context, h cli.Home, c *config.Loaded) []cli.Finding {
	return server.Doctor(ctx, Features, h, c)
}

func mcpOptions(h cli.Home) mcpcli.Options {
	return mcpcli.Options{Home: h, Logins: Logins, Plugins: PluginServers, Serve: mcpserve.Command(h, New)}
}

func mcpCommand(h cli.Home) *cobra.Command { return mcpcli.New(mcpOptions(h)) }

func mcpDoctor(ctx context.Context, h cli.Home, c *config.Loaded) []cli.Finding {
	return mcpOptions(h).Doctor(ctx, c)
}

func hooksOptions(h cli.Home) hookscli.Options {
	return hookscli.Options{Home: h, Hooks: Hooks, Outside: HookOptions}
}

func hooksCommand(h cli.Home) *cobra.Command { return hookscli.New(hooksOptions(h)) }

func hooksDoctor(_ context.Context, h cli.Home, c *config.Loaded) []cli.Finding {
	return hooksOptions(h).Doctor(c)
}

func pluginCommand(h cli.Home) *cobra.Command {
	return pluginscli.New(pluginscli.Options{Home: h, Outside: PluginOptions})
}
