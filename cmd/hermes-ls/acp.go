package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
)

func acpCommand() *cobra.Command {
	var logFile string
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Agent Client Protocol agent on stdio (Zed, JetBrains, Emacs agent-shell, …)",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveOn(cmd, logFile, func(ctx context.Context, s *server.Service, log *slog.Logger) error {
				return acp.Serve(ctx, os.Stdin, os.Stdout, acp.ServeOptions{Service: s, Log: log})
			})
		},
	}
	cmd.AddCommand(loginCommand())
	cmd.PersistentFlags().StringVar(&logFile, "log", "", "append the log to `FILE` instead of stderr")
	return cmd
}
