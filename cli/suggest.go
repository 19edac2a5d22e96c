package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermes-ls/hermes-ls/internal/spelling"
)

// Nearest returns the name most similar to a word. If all names differ from it by half of its
// letters, or by more than two, it returns "". Two swapped neighbors count as a letter.
func Nearest(word string, names []string) string {
	best, distance := "", min(3, (len(word)+1)/2)
	for _, name := range names {
		d := lettersBetween(strings.ToLower(word), name)
		if d < distance || d == distance && best != "" && word[0] == name[0] && word[0] != best[0] {
			best, distance = name, d
		}
	}
	return best
}

// lettersBetween returns the number of letters by which a word differs from a name. The beginning
// of a name differs by a letter.
func lettersBetween(word, name string) int {
	if len(word) > len(name)+8 { // letters of several bytes
		return len(word)
	}
	d := spelling.Distance(word, name)
	if len(word) > 2 && strings.HasPrefix(name, word) {
		d = min(d, 1)
	}
	for i := range len(word) - 1 {
		swapped := word[:i] + word[i+1:i+2] + word[i:i+1] + word[i+2:]
		d = min(d, 1+spelling.Distance(swapped, name))
	}
	return d
}

// Unknown returns the error for a word that is no command below cmd. It suggests a command with a
// similar name, or with this name in another place.
func Unknown(cmd *cobra.Command, word string) error {
	where := cmd.CommandPath()
	if similar := Nearest(word, subcommands(cmd)); similar != "" {
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
	similar := Nearest(unknown.GetSpecifiedName(), names)
	if similar == "" {
		return Usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	}
	return Usage(fmt.Errorf("%w; did you mean --%s? See %s --help", err, similar, cmd.CommandPath()))
}

// OneOf returns the error for a flag whose value is none of values. If a similar value exists, the
// error suggests it. do describes the right values.
func OneOf(flag, value, do string, values ...string) error {
	text := fmt.Sprintf("%s is %q: %s", flag, value, do)
	if similar := Nearest(value, values); similar != "" {
		text += fmt.Sprintf(" (did you mean %s?)", similar)
	}
	return Usage(errors.New(text))
}
