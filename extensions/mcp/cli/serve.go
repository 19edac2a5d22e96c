package cli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/server/mcpserve"
)

func serveCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Offer hermes-ls as an MCP server on stdio", Args: cli.NoArgs,
		Long: "Other MCP hosts start this. It has the tools prompt, sessions and delegate. The host shows approval requests\n" +
			"(elicitation). If it cannot, the action is denied.",
		Example: "  hermes-ls mcp serve\n  claude mcp add hermes -- hermes-ls mcp serve",
		RunE: func(cmd *cobra.Command, _ []string) error {
			home := config.Home(os.Environ())
			secrets := redact.New(func() map[string]string {
				return app.Secrets(app.Config().Load(home, config.Options{Environ: os.Environ()}))
			})
			log := slog.New(slog.NewTextHandler(secrets.Writer(cmd.ErrOrStderr()), &slog.HandlerOptions{Level: slog.LevelWarn}))
			if err := proc.Harden(); err != nil {
				log.Warn("this process may be readable by its children", "error", err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			service := app.New(server.Options{Home: home, Version: version, Log: log})
			ended := make(chan error, 1)
			go func() { ended <- serve(ctx, cmd, service, version, log) }()
			var err error
			select {
			case err = <-ended:
			case <-ctx.Done(): // a read from stdin cannot be interrupted
			}
			if closing := service.Close(); err == nil {
				err = closing
			}
			return err
		},
	}
}

func serve(ctx context.Context, cmd *cobra.Command, service *server.Service, version string, log *slog.Logger) error {
	return mcpserve.Serve(ctx, cmd.InOrStdin(), cmd.OutOrStdout(), mcpserve.Options{Service: service, Version: version, Log: log})
}
