package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
)

// Defaults adds the commands help and completion. Like all others, they reject unknown words. The
// outputs of root must be set before.
func Defaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Run, cmd.RunE = nil, help
		case "completion":
			cmd.Args = NoArgs
			cmd.RunE = func(*cobra.Command, []string) error {
				return Usage(errors.New("say which shell: bash, fish, powershell or zsh; see hermes-ls completion --help"))
			}
			for _, shell := range cmd.Commands() {
				shell.Args = NoArgs
			}
		}
	}
}

// help prints the help of the command named by args.
func help(cmd *cobra.Command, args []string) error {
	about, rest, err := cmd.Root().Find(args)
	if err != nil {
		return Usage(err)
	}
	if len(rest) > 0 {
		return NoArgs(about, rest)
	}
	about.InitDefaultHelpFlag()
	about.InitDefaultVersionFlag()
	return about.Help()
}

// HelpOfUnknown returns an error if args ask for the help of an unknown command. Otherwise, cobra
// would print the help of the parent command. It changes the flags of a separate root.
func HelpOfUnknown(newRoot func() *cobra.Command, args []string) error {
	if !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
		return nil
	}
	root := newRoot()
	Defaults(root)
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() {
		return nil // the command itself reports it
	}
	cmd.InitDefaultHelpFlag()
	if cmd.ParseFlags(rest) != nil {
		return nil
	}
	return NoArgs(cmd, cmd.Flags().Args())
}
