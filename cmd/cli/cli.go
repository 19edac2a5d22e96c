// Package cli has the parts that all subcommands of hermes-ls share: exit codes, errors of the
// command line, and the check of arguments. A subcommand of a feature has a package of its own
// beside this one.
package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	Failed      = 1
	WrongUse    = 2
	NeedsLogin  = 3
	Interrupted = 130
)

// Exit ends the program with an exit code. If Err is not nil, it is printed.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Exit) Unwrap() error { return e.Err }

// Usage marks an error in the command line. If err is nil, it returns nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &Exit{WrongUse, err}
}

// NoArgs is the check of a command without arguments. If the first argument is like the name of
// a subcommand, the error suggests it.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return Usage(fmt.Errorf("%s takes no arguments; see %[1]s --help", cmd.CommandPath()))
	}
	cmd.SuggestionsMinimumDistance = 2
	text := fmt.Sprintf("unknown command %q", args[0])
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		return Usage(fmt.Errorf("%s; did you mean %s %s?", text, cmd.CommandPath(), similar[0]))
	}
	return Usage(fmt.Errorf("%s; see %s --help", text, cmd.CommandPath()))
}
