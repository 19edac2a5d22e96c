// Command hermes-ls is a coding agent that editors start like a language server. Each
// subcommand is one file here. It calls packages that do the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hermes-ls/hermes-ls/internal/modes"

	"github.com/spf13/cobra"
)

// Exit codes of the contract.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	modes.Enter() // returns unless this process is a supervisor or a helper
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exitError ends the program with an exit code. If Err is not nil, it is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error in the command line.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	exit := &exitError{exitFailed, err}
	errors.As(err, &exit)
	if exit.err != nil {
		fmt.Fprintf(errOut, "hermes-ls: %v\n", exit.err)
	}
	return exit.code
}

func rootCommand() *cobra.Command {
	serve := serveCommand()
	root := &cobra.Command{
		Use:   "hermes-ls",
		Short: "A coding agent that your editor hosts like a language server",
		Long: "hermes-ls speaks LSP on stdio (serve, the default) and the Agent Client Protocol (acp).\n" +
			"Try it without an editor and without a key: hermes-ls demo",
		Example: "  hermes-ls demo\n" +
			"  hermes-ls doctor\n" +
			"  hermes-ls run \"what does this project do?\"",
		Args:          noArgs,
		RunE:          serve.RunE,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	})
	root.AddCommand(releaseCommands()...)
	root.AddCommand(serve, acpCommand(), loginCommand(), runCommand(), demoCommand(), doctorCommand(), bugCommand(), configCommand(), rollbackCommand(), sessionsCommand(), versionCommand(), replayCommand(), usageCommand(), modelCommand(), setupCommand())
	return root
}
