// Package cli is `hermes-ls learnings`: it shows, exports and deletes working calls after
// errors.
package cli

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/learnings"
	"github.com/hermes-ls/hermes-ls/internal/escape"
)

// New returns the command.
func New(h cli.Home) *cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the learnings, the last used first", Args: cli.NoArgs,
		Example: "  hermes-ls learnings list\n  hermes-ls learnings list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(h, cmd, func(s *learnings.Store, all []learnings.Learning) error {
				if asJSON {
					return cli.JSON(cmd.OutOrStdout(), map[string]any{"learnings": all})
				}
				return table(cmd.OutOrStdout(), all)
			})
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	show := &cobra.Command{
		Use: "show NUMBER", Short: "Show one learning with all its texts", Args: cli.One("the number of a learning"),
		Example: "  hermes-ls learnings show 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(h, cmd, func(_ *learnings.Store, all []learnings.Learning) error {
				id, err := learnings.IDOf(args[0])
				if err != nil {
					return cli.Usage(err)
				}
				for _, l := range all {
					if l.ID == id {
						return details(cmd.OutOrStdout(), l)
					}
				}
				return fmt.Errorf("there is no learning %s; hermes-ls learnings list shows those there are", args[0])
			})
		},
	}
	forget := &cobra.Command{
		Use: "forget NUMBER", Short: "Forget one learning", Args: cli.One("the number of a learning"),
		Example: "  hermes-ls learnings forget 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := learnings.IDOf(args[0])
			if err != nil {
				return cli.Usage(err)
			}
			return forgetIn(h, cmd, id)
		},
	}
	export := &cobra.Command{
		Use: "export", Short: "Print all learnings as lines of JSON", Args: cli.NoArgs,
		Example: "  hermes-ls learnings export > learnings.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(h, cmd, func(_ *learnings.Store, all []learnings.Learning) error {
				for _, l := range all {
					if err := cli.JSON(cmd.OutOrStdout(), l); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	clearAll := &cobra.Command{
		Use: "clear", Short: "Forget all learnings", Args: cli.NoArgs,
		Example: "  hermes-ls learnings clear",
		RunE:    func(cmd *cobra.Command, _ []string) error { return forgetIn(h, cmd, 0) },
	}
	return cli.Group(&cobra.Command{
		Use: "learnings", GroupID: cli.GroupSessions, Short: "Show and forget which calls worked after errors",
		Example: "  hermes-ls learnings list\n" +
			"  hermes-ls learnings show 3\n" +
			"  hermes-ls learnings forget 3",
	}, list, show, forget, export, clearAll)
}

// with runs do with the learnings of the home directory.
func with(h cli.Home, cmd *cobra.Command, do func(*learnings.Store, []learnings.Learning) error) (err error) {
	c := config.SectionOf[learnings.Settings](h.Load(), learnings.Section().Name)
	s := learnings.NewStore(h.Dir())
	defer func() { err = errors.Join(err, s.Close()) }()
	all, err := s.List(cmd.Context(), c.HalfLife)
	if err != nil {
		return err
	}
	if all == nil {
		all = []learnings.Learning{}
	}
	return do(s, all)
}

func forgetIn(h cli.Home, cmd *cobra.Command, id int64) error {
	return with(h, cmd, func(s *learnings.Store, _ []learnings.Learning) error {
		text, err := learnings.Forget(cmd.Context(), s, id)
		if err == nil {
			fmt.Fprintln(cmd.OutOrStdout(), text)
		}
		return err
	})
}

func table(out io.Writer, all []learnings.Learning) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "There are no learnings yet. One is recorded when a call works after an error of the same program.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NUMBER\tPROGRAM\tSEEN\tCONFIDENCE\tWORKED")
	for _, l := range all {
		fmt.Fprintf(w, "%d\t%s\t%d\t%.2f\t%s\n", l.ID, escape.Line(l.Program), l.Seen, l.Confidence, escape.Line(l.Worked))
	}
	return w.Flush()
}

func details(out io.Writer, l learnings.Learning) error {
	_, err := fmt.Fprintf(out, "Program:     %s\nError:       %s\nFailed:      %s\nWorked:      %s\nFolder:      %s\nSeen:        %d\nConfidence:  %.2f\nCreated:     %s\nUsed:        %s\n",
		escape.Line(l.Program), escape.Line(l.Error), escape.Line(l.Failed), escape.Line(l.Worked), escape.Line(l.Folder), l.Seen, l.Confidence,
		l.Created.Local().Format("2006-01-02 15:04"), l.Used.Local().Format("2006-01-02 15:04"))
	return err
}
