package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/app"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show or change config.yaml",
		Example: "  hermes-ls config get model.default\n" +
			"  hermes-ls config set model.provider ollama",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage(fmt.Errorf("say what to do: config path, get KEY, set KEY VALUE or schema"))
		},
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "path", Short: "Print the path of config.yaml", Args: noArgs,
			Example: "  hermes-ls config path",
			Run: func(cmd *cobra.Command, _ []string) {
				fmt.Fprintln(cmd.OutOrStdout(), config.Path(config.Home(os.Environ())))
			},
		},
		&cobra.Command{
			Use: "get KEY", Short: "Print a value, such as model.default", Args: exactly(1),
			Example: "  hermes-ls config get model.default",
			RunE:    func(cmd *cobra.Command, args []string) error { return configGet(cmd, args[0]) },
		},
		&cobra.Command{
			Use: "set KEY VALUE", Short: "Write a value, and keep the rest of the file", Args: exactly(2),
			Example: "  hermes-ls config set model.default qwen3-coder\n" +
				"  hermes-ls config set delegation.max_concurrent_children 5",
			RunE: func(_ *cobra.Command, args []string) error {
				return app.Config().Set(config.Home(os.Environ()), args[0], args[1])
			},
		},
		&cobra.Command{
			Use: "schema", Short: "Print the JSON Schema of config.yaml", Args: noArgs,
			Example: "  hermes-ls config schema > schema.json",
			Run:     func(cmd *cobra.Command, _ []string) { fmt.Fprintf(cmd.OutOrStdout(), "%s\n", app.Config().JSON()) },
		},
	)
	return cmd
}

func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage(fmt.Errorf("usage: %s", cmd.UseLine()))
		}
		return nil
	}
}

func configGet(cmd *cobra.Command, key string) error {
	loaded := loadConfig()
	value, err := loaded.Get(key)
	if err != nil {
		return err
	}
	for _, p := range loaded.Problems {
		fmt.Fprintln(cmd.ErrOrStderr(), p)
	}
	fmt.Fprintln(cmd.OutOrStdout(), value)
	return nil
}

// loadConfig returns the configuration for the current directory.
func loadConfig() *config.Loaded {
	options := config.Options{Environ: os.Environ()}
	if cwd, err := os.Getwd(); err == nil {
		options.Folders = []string{cwd}
	}
	return app.Config().Load(config.Home(os.Environ()), options)
}
