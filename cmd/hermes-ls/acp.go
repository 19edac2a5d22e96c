package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cmd/modelcmd"
	"github.com/hermes-ls/hermes-ls/server/acp"
)

func acpCommand() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Run as an agent of the Agent Client Protocol on stdio (Zed, JetBrains, agent-shell)",
		Example: "  hermes-ls acp\n" +
			"  hermes-ls acp --log /tmp/hermes.log --log-level debug",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveOn(cmd, flags, "acp", func(ctx context.Context, c connection) error {
				return acp.Serve(ctx, c.in, c.out, acp.ServeOptions{Service: c.service, Log: c.log, Inspect: c.inspect})
			})
		},
	}
	cmd.AddCommand(modelcmd.Login())
	flags.add(cmd.PersistentFlags())
	return cmd
}
