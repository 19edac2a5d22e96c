package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermes-ls/hermes-ls/internal/spelling"
)

// Unknown returns the error for a word that is no command below cmd. It suggests a command with a
// similar name, or with this name in another place.
func Unknown(cmd *cobra.Command, word string) error {
	where := cmd.CommandPath()
	if similar := spelling.Nearest(word, subcommands(cmd)); similar != "" {
		return Usage(fmt.Errorf("unknown command %q; did you mean %s %s?", word, where, similar))
	}
	for _, c := range cmd.Commands() {
		if slices.Contains(subcommands(c), word) {
			return Usage(fmt.Errorf("unknown command %q; did you mean %s %s?", word, c.CommandPath(), word))
		}
	}
	return Usage(fmt.Errorf("unknown command %q; see %s --help", word, where))
}

// subcommands returns the commands in cmd's help.
func subcommands(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// FlagError returns the error for a command line with invalid flags. If an unknown flag is similar
// to another flag, it suggests the other.
func FlagError(cmd *cobra.Command, err error) error {
	unknown := new(pflag.NotExistError)
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return Usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	}
	names := []string{"help"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	similar := spelling.Nearest(unknown.GetSpecifiedName(), names)
	if similar == "" {
		return Usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	}
	return Usage(fmt.Errorf("%w; did you mean --%s? See %s --help", err, similar, cmd.CommandPath()))
}

// OneOf returns the error for a flag whose value is none of values. If a similar value exists, the
// error suggests it. do describes the right values.
func OneOf(flag, value, do string, values ...string) error {
	text := fmt.Sprintf("%s is %q: %s", flag, value, do)
	if similar := spelling.Nearest(value, values); similar != "" {
		text += fmt.Sprintf(" (did you mean %s?)", similar)
	}
	return Usage(errors.New(text))
}
