// Package cli is `hermes-ls hooks`: it lists, tests and checks the hooks of config.yaml.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// Options are the parts of the program for the commands.
type Options struct {
	cli.Home
	Hooks   func(*config.Loaded) ([]hooks.Hook, []error)
	Outside func(home string) hooks.Options // outside of a session
}

// New returns the command.
func New(o Options) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "hooks", GroupID: cli.GroupExtend, Short: "List, test and check hooks",
		Example: "  hermes-ls hooks list\n" +
			"  hermes-ls hooks test pre_tool_call --tool terminal\n" +
			"  hermes-ls hooks import\n" +
			"  hermes-ls hooks doctor",
	}, o.list(), o.test(), o.doctor(), o.importing())
}

// configured returns the hooks, and the problems of omitted hooks.
func (o Options) configured() (all []hooks.Hook, problems []error, l *config.Loaded, folder string, err error) {
	if folder, err = os.Getwd(); err != nil {
		return nil, nil, nil, "", err
	}
	l = o.Load(folder)
	all, problems = o.Hooks(l)
	return all, problems, l, folder, nil
}

// line is a hook in the output of list --json.
type line struct {
	Event   string  `json:"event"`
	Matcher string  `json:"matcher"`
	Command string  `json:"command"`
	Timeout float64 `json:"timeout"`
	Sandbox bool    `json:"sandbox"`
	Error   string  `json:"error,omitempty"`
}

func (o Options) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the hooks by event", Args: cli.NoArgs,
		Example: "  hermes-ls hooks list\n  hermes-ls hooks list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, problems, _, folder, err := o.configured()
			if err != nil {
				return err
			}
			lines := []line{}
			for _, h := range all {
				l := line{h.Event, h.Matcher, h.Command, h.Timeout.Seconds(), h.Sandbox, h.NeverRuns()}
				if err := o.check(cmd.Context(), o.Dir(), h, []string{folder}); err != nil {
					l.Error = err.Error()
				}
				lines = append(lines, l)
			}
			for _, p := range problems {
				fmt.Fprintln(cmd.ErrOrStderr(), p)
			}
			if asJSON {
				return cli.JSON(cmd.OutOrStdout(), map[string]any{"hooks": lines})
			}
			return table(cmd.OutOrStdout(), lines)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func table(out io.Writer, lines []line) error {
	if len(lines) == 0 {
		_, err := fmt.Fprintln(out, "There are no hooks. The section hooks of config.yaml adds them.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "EVENT\tTOOLS\tCOMMAND\tSTATE")
	for _, l := range lines {
		matcher, state := l.Matcher, "ready"
		if matcher == "" {
			matcher = "all"
		}
		if l.Error != "" {
			state = l.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Event, escape.Line(matcher), escape.Line(l.Command), escape.Line(state))
	}
	return w.Flush()
}

func (o Options) test() *cobra.Command {
	var tool, file string
	cmd := &cobra.Command{
		Use: "test EVENT", Short: "Run the hooks of an event and print their decisions", Args: cli.One("the name of an event"),
		Long: "Each hook gets the payload of --payload, else an example. Prints block, ask, modify, none or failed for each one.\n" +
			"If one failed, the exit code is 1. What a hook in the sandbox changes at places that run by themselves is undone and named.",
		Example: "  hermes-ls hooks test pre_tool_call --tool terminal\n" +
			"  hermes-ls hooks test PreToolUse --tool Bash --payload call.json",
		RunE: func(cmd *cobra.Command, args []string) error { return o.runTest(cmd, args[0], tool, file) },
	}
	cmd.Flags().StringVar(&tool, "tool", "", "run only hooks whose matcher fits this `name` of a tool")
	cmd.Flags().StringVar(&file, "payload", "", "`file` with the payload, as JSON")
	return cmd
}

func (o Options) runTest(cmd *cobra.Command, event, tool, file string) error {
	if !hooks.IsEvent(event) {
		return cli.Usage(fmt.Errorf("%q is not an event", event))
	}
	all, _, l, folder, err := o.configured()
	if err != nil {
		return err
	}
	box := cli.Box(l, folder, cmd.ErrOrStderr())
	defer box.Close()
	in := o.Outside(l.Home)
	in.Confine = func(ctx context.Context, c *proc.Cmd) error {
		if _, err := box.Stand(ctx, "the hook"); err != nil {
			return err
		}
		return box.Confine(ctx, c)
	}
	var given json.RawMessage
	if file != "" {
		if given, err = textfile.Read(file, 16<<20); err != nil {
			return err
		}
		if !json.Valid(given) {
			return cli.Usage(fmt.Errorf("%s is not JSON", file))
		}
	}
	ran, failed := 0, false
	for _, h := range all {
		if !h.Runs(event, tool) {
			continue
		}
		input := given
		if input == nil {
			input = h.Sample(tool, folder)
		}
		decision, text := h.Test(cmd.Context(), in, folder, input)
		ran, failed = ran+1, failed || decision == hooks.Failed
		fmt.Fprintf(cmd.OutOrStdout(), "%s  %s", decision, escape.Line(h.Name()))
		if text != "" {
			fmt.Fprintf(cmd.OutOrStdout(), ": %s", escape.Line(text))
		}
		fmt.Fprintln(cmd.OutOrStdout())
	}
	if ran == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "No hook runs at this event.")
	}
	if failed {
		return &cli.Exit{Code: cli.Failed}
	}
	return nil
}

func (o Options) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check that each hook can start", Args: cli.NoArgs,
		Long:    "Starts nothing. Also names hooks whose matcher fits no tool. If a hook is invalid or cannot start, the exit code is 1.",
		Example: "  hermes-ls hooks doctor",
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, unfit, problems := o.count(o.Load())
			if err := errors.Join(problems...); err != nil {
				return err
			}
			for _, text := range unfit {
				fmt.Fprintln(cmd.OutOrStdout(), text)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s, all can start.\n", amount.Plural(n, "hook"))
			return nil
		},
	}
}

// check returns why a hook cannot start; nil: it can.
func (o Options) check(ctx context.Context, home string, h hooks.Hook, roots []string) error {
	err := h.Check(roots, os.Getenv("PATH"))
	if err != nil {
		path, _ := o.Path(home)(ctx)
		err = h.Check(roots, path)
	}
	return err
}

// count returns the number of valid hooks, a text for each that never runs, and the problems of hooks that
// are invalid or cannot start.
func (o Options) count(loaded *config.Loaded) (n int, unfit []string, problems []error) {
	all, problems := o.Hooks(loaded)
	var roots []string
	if folder, err := os.Getwd(); err == nil {
		roots = []string{folder}
	}
	for _, h := range all {
		if text := h.NeverRuns(); text != "" {
			unfit = append(unfit, fmt.Sprintf("%s, %s: %s", h.Event, h.Name(), text))
		}
		err := o.check(context.Background(), loaded.Home, h, roots)
		if err != nil && !slices.ContainsFunc(problems, func(p error) bool { return errors.Is(p, err) }) {
			problems = append(problems, fmt.Errorf("%s, %s: %w", h.Event, h.Name(), err))
		}
	}
	return len(all), unfit, problems
}

// Doctor says which hooks cannot start or never run. If there are no hooks, it returns nil.
func (o Options) Doctor(loaded *config.Loaded) []cli.Finding {
	n, unfit, problems := o.count(loaded)
	switch {
	case len(problems) > 0:
		return []cli.Finding{{State: cli.Fail, What: "hooks", Text: errors.Join(problems...).Error()}}
	case len(unfit) > 0:
		return []cli.Finding{{State: cli.Note, What: "hooks", Text: strings.Join(unfit, "; ")}}
	case n == 0:
		return nil
	}
	return []cli.Finding{{State: cli.OK, What: "hooks", Text: fmt.Sprintf("%d, all can start", n)}}
}
