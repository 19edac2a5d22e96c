package mcpserve

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/server"
)

// Command is `hermes-ls mcp serve`. open makes a service with all features.
func Command(h cli.Home, open func(server.Options) *server.Service) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Offer hermes-ls as an MCP server on stdio", Args: cli.NoArgs,
		Long: "Other MCP hosts start this. It has the tools prompt, sessions and delegate. The host shows approval requests\n" +
			"(elicitation). If it cannot, the action is denied.",
		Example: "  hermes-ls mcp serve\n  claude mcp add hermes -- hermes-ls mcp serve",
		RunE: func(cmd *cobra.Command, _ []string) error {
			home := h.Dir()
			secrets := redact.New(func() map[string]string {
				return h.Secrets(h.Load())
			})
			log := slog.New(slog.NewTextHandler(secrets.Writer(cmd.ErrOrStderr()), &slog.HandlerOptions{Level: slog.LevelWarn}))
			if err := proc.Harden(); err != nil {
				log.Warn("this process may be readable by its children", "error", err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			service := open(server.Options{Home: home, Version: h.Version, Log: log})
			ended := make(chan error, 1)
			go func() {
				ended <- Serve(ctx, cmd.InOrStdin(), cmd.OutOrStdout(), Options{Service: service, Version: h.Version, Log: log})
			}()
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
