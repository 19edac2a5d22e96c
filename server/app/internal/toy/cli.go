package toy

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
)

// Command is `hermes-ls toy`: it prints the greeting.
func Command(h cli.Home) *cobra.Command {
	return &cobra.Command{
		Use: "toy", GroupID: cli.GroupExtend, Short: "Print the greeting", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), config.SectionOf[Settings](h.Load(), Section.Name).Greeting)
			return err
		},
	}
}

// Doctor checks the greeting.
func Doctor(_ context.Context, _ cli.Home, c *config.Loaded) []cli.Finding {
	greeting := config.SectionOf[Settings](c, Section.Name).Greeting
	if greeting == "" {
		return []cli.Finding{{State: cli.Fail, What: "toy", Text: "there is no greeting"}}
	}
	return []cli.Finding{{State: cli.OK, What: "toy", Text: "says " + greeting}}
}
