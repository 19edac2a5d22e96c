// Package cli contains the shared parts of the subcommands of hermes-ls: exit codes, errors of the
// command line, and the check of arguments. [Home] is what the subcommand of a feature gets: it is a
// package in the folder of the feature, such as extensions/hooks/cli.
package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"
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
	return Unknown(cmd, args[0])
}

// Group makes cmd a command with subcommands only. If it runs without a subcommand, the error names
// them.
func Group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	var names []string
	for _, s := range subcommands {
		names = append(names, s.Name())
	}
	last := len(names) - 1
	choices := strings.Join(names[:last], ", ") + " or " + names[last]
	cmd.Args = NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return Usage(fmt.Errorf("say what to do: %s; see %s --help", choices, cmd.CommandPath()))
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// One is the check of a command with a single argument, such as "the name of a server".
func One(argument string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usage(fmt.Errorf("%s takes %s; see %[1]s --help", cmd.CommandPath(), argument))
		}
		return nil
	}
}

// Args makes the errors of a check wrong use of the command.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(fmt.Errorf("%s %w; see %[1]s --help", cmd.CommandPath(), err))
		}
		return nil
	}
}

// JSON prints a value on a single line.
func JSON(out io.Writer, value any) error {
	data, err := Encode(value)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", data)
	}
	return err
}

// Encode returns a value as JSON on a single line. Unlike [json.Marshal] it keeps &, < and >,
// because users read it.
func Encode(value any) ([]byte, error) { return encode(value, "") }

// EncodeIndented is Encode on many lines.
func EncodeIndented(value any) ([]byte, error) { return encode(value, "  ") }

func encode(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Interactive reports whether a user can answer on a terminal.
func Interactive(cmd *cobra.Command) bool {
	f, ok := cmd.InOrStdin().(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Terminal reports whether an output is a terminal.
func Terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Plain returns text on a single line, without characters for controlling a terminal.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
}

// Agrees asks the user a question with the answers yes and no. The end of input is no.
func Agrees(cmd *cobra.Command, question string) bool {
	fmt.Fprintf(cmd.OutOrStdout(), "%s [y/N] ", question)
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// Confirm asks the user, unless yes is given. If there is no terminal, or the user denies, it
// returns an error with the text otherwise, such as "nothing was installed".
func Confirm(cmd *cobra.Command, yes bool, question, otherwise string) error {
	switch {
	case yes:
		return nil
	case !Interactive(cmd):
		return fmt.Errorf("%s: there is no terminal to ask on, so --yes is needed", otherwise)
	case !Agrees(cmd, question):
		return errors.New(otherwise)
	}
	return nil
}
