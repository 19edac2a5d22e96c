package main

import (
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/cmd/hermes-ls/demo"
)

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "demo",
		Short:   "Show the agent at work, offline, in a temporary workspace",
		Example: "  hermes-ls demo",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			binary, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding our own program: %w", err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			options := demo.Options{Binary: binary, Out: cmd.OutOrStdout()}
			if term.IsTerminal(int(os.Stdout.Fd())) {
				options.Color = os.Getenv("NO_COLOR") == ""
				options.Pace = 15 * time.Millisecond
			}
			err = demo.Run(ctx, options)
			if err != nil && ctx.Err() != nil {
				return &cli.Exit{Code: cli.Interrupted}
			}
			return err
		},
	}
}
