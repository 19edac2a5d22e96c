package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/internal/amount"
)

// usageLine is the usage of a day or a session in the output of --json.
type usageLine struct {
	Date        string  `json:"date,omitempty"`
	ID          string  `json:"id,omitempty"`
	Title       string  `json:"title,omitempty"`
	Cwd         string  `json:"cwd,omitempty"`
	Requests    int     `json:"requests"`
	Input       int     `json:"input"`
	Output      int     `json:"output"`
	Reasoning   int     `json:"reasoning"`
	CachedRead  int     `json:"cachedRead"`
	CachedWrite int     `json:"cachedWrite"`
	Cost        float64 `json:"cost"`
	Unpriced    int     `json:"unpriced"` // requests without a known cost
}

func usageLineOf(s store.Spent) usageLine {
	u := s.Usage
	return usageLine{
		Requests: s.Requests, Unpriced: s.Unpriced, Input: u.Input, Output: u.Output, Reasoning: u.Reasoning,
		CachedRead: u.CachedRead, CachedWrite: u.CachedWrite, Cost: u.Cost,
	}
}

func usageCommand() *cobra.Command {
	var days int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "usage", Short: "Show requests, tokens and cost of each day and session", Args: noArgs,
		Long: "A session includes its subagents and compactions. A fork includes what it shares with its parent.\n" +
			"Deleted sessions are not counted. Requests without a known price have no cost; their number is shown.",
		Example: "  hermes-ls usage\n" +
			"  hermes-ls usage --days 1 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 {
				return usage(fmt.Errorf("--days is %d; it must be at least 1", days))
			}
			now := time.Now()
			since := time.Date(now.Year(), now.Month(), now.Day()-days+1, 0, 0, 0, 0, now.Location())
			out := struct {
				Days     []usageLine `json:"days"`
				Sessions []usageLine `json:"sessions"`
			}{[]usageLine{}, []usageLine{}}
			err := listStore(cmd, asJSON, func(st *store.Store) error {
				byDay, err := st.SpentByDay(cmd.Context(), since)
				if err != nil {
					return err
				}
				bySession, err := st.SpentBySession(cmd.Context(), since)
				if err != nil {
					return err
				}
				for _, d := range byDay {
					line := usageLineOf(d.Spent)
					line.Date = d.Date
					out.Days = append(out.Days, line)
				}
				for _, x := range bySession {
					line := usageLineOf(x.Spent)
					line.ID, line.Title, line.Cwd = x.Session.ID, x.Session.Title, x.Session.Cwd
					out.Sessions = append(out.Sessions, line)
				}
				if !asJSON && len(out.Days) == 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "No request was sent since %s.\n", since.Format(time.DateOnly))
				} else if !asJSON {
					printUsage(cmd.OutOrStdout(), "DAY", out.Days, func(l usageLine) string { return l.Date })
					fmt.Fprintln(cmd.OutOrStdout())
					printUsage(cmd.OutOrStdout(), "SESSION", out.Sessions, func(l usageLine) string {
						return l.ID + "  " + cli.Plain(orText(l.Title, "(no title)"))
					})
				}
				return nil
			})
			if err == nil && asJSON {
				err = cli.JSON(cmd.OutOrStdout(), out)
			}
			return err
		},
	}
	cmd.Flags().IntVar(&days, "days", 30, "how many days, today included")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object with days and sessions")
	return cmd
}

func printUsage(out io.Writer, title string, lines []usageLine, name func(usageLine) string) {
	table := tabwriter.NewWriter(out, 2, 0, 2, ' ', 0)
	fmt.Fprintf(table, "COST\tREQUESTS\tTOKENS IN\tCACHED\tTOKENS OUT\t%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\n", costText(l), l.Requests, amount.Comma(l.Input),
			amount.Comma(l.CachedRead), amount.Comma(l.Output), name(l))
	}
	_ = table.Flush()
}

func costText(l usageLine) string {
	switch {
	case l.Unpriced == 0:
		return fmt.Sprintf("$%.4f", l.Cost)
	case l.Cost > 0:
		return fmt.Sprintf("$%.4f and %d without a price", l.Cost, l.Unpriced)
	}
	return "no price known"
}
