// Command hermes-ls is a coding agent. Editors start it like a language server. Each subcommand of
// the core is a file here, or a package beside this package; features bring their own. The
// subcommands call packages for the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/cmd/modelcmd"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/server/app"
)

func main() {
	modes.Enter() // returns unless this process is a supervisor or a helper
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// usage marks an error in the command line.
func usage(err error) error { return cli.Usage(err) }

// noArgs is the check of a command without arguments.
func noArgs(cmd *cobra.Command, args []string) error { return cli.NoArgs(cmd, args) }

func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := rootCommand()
	if err := cli.HelpOfUnknown(rootCommand, args); err != nil {
		fmt.Fprintf(errOut, "hermes-ls: %s\n", escape.Text(err.Error()))
		return cli.WrongUse
	}
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cli.Defaults(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	exit := &cli.Exit{Code: cli.Failed, Err: err}
	errors.As(err, &exit)
	if exit.Err != nil {
		fmt.Fprintf(errOut, "hermes-ls: %s\n", escape.Text(exit.Err.Error())) // it can have texts of servers
	}
	return exit.Code
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
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.Flags().AddFlagSet(serve.Flags())
	line := root.Flags().BoolP("version", "v", false, "print the version, the commit and the version of Go")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *line {
			_, err := io.WriteString(cmd.OutOrStdout(), versionLine())
			return err
		}
		return serve.RunE(cmd, args)
	}
	root.SetFlagErrorFunc(cli.FlagError)
	addGroups(root)
	root.AddCommand(releaseCommands()...)
	addTo(root, cli.GroupStart, demoCommand(), modelcmd.Setup(), runCommand(), serve, acpCommand())
	addTo(root, cli.GroupModels, modelcmd.New(loadConfig), modelcmd.Login(), usageCommand())
	addTo(root, cli.GroupSessions, sessionsCommand(), rollbackCommand(), replayCommand())
	root.AddCommand(app.Commands(app.Home(version()))...)
	addTo(root, cli.GroupInspect, doctorCommand(), configCommand(), bugCommand(), versionCommand())
	return root
}
