package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/agent/transcript"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/tools"
)

func sessionsCommand() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "sessions",
		Short: "List, show, search, export, import, fork, move and delete sessions",
		Example: "  hermes-ls sessions list --limit 10\n" +
			"  hermes-ls sessions search parser error\n" +
			"  hermes-ls sessions show 0199f2",
		Long: "To name a session, give its id or the beginning of the id.\n" +
			"With --json, list, search, tree and show print one JSON object per line.",
	}, sessionsList(), sessionsShow(), sessionsSearch(), sessionsTree(), sessionsDescribe(), sessionsFork(),
		sessionsExport(), sessionsImport(), sessionsMove(), sessionsRemove(), sessionsCheck(), sessionsSetAside())
}

// noStore is the error for a missing store.
type noStore string

func (path noStore) Error() string {
	return fmt.Sprintf("there are no sessions yet: %s does not exist", string(path))
}

// withStore runs work on the user's store. If there is no store, it returns [noStore] and
// creates none.
func withStore(work func(*store.Store) error) (err error) {
	st := store.New(storePath(), store.Options{Synchronous: loadConfig().Store.Synchronous})
	if _, err := os.Stat(st.Path()); errors.Is(err, fs.ErrNotExist) {
		return noStore(st.Path())
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return work(st)
}

func storePath() string { return filepath.Join(config.Home(os.Environ()), store.FileName) }

// listStore is [withStore] for a listing command. If there is no store, the list is empty, without
// an error.
func listStore(cmd *cobra.Command, asJSON bool, work func(*store.Store) error) error {
	err := withStore(work)
	var none noStore
	if !errors.As(err, &none) {
		return err
	}
	if !asJSON {
		fmt.Fprintln(cmd.OutOrStdout(), noSessions)
	}
	return nil
}

const noSessions = "There are no sessions yet. The first prompt starts one."

// withSession runs work on the session named by the user.
func withSession(ctx context.Context, name string, work func(st *store.Store, id string) error) error {
	return withStore(func(st *store.Store) error {
		id, err := st.Resolve(ctx, name)
		if err != nil {
			return err
		}
		return work(st, id)
	})
}

// sessionLine is a session in the output of --json.
type sessionLine struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Notes     string    `json:"notes,omitempty"`
	Cwd       string    `json:"cwd"`
	Model     string    `json:"model,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	Messages  int       `json:"messages"`
	ParentID  string    `json:"parentId,omitempty"`
	ForkedAt  string    `json:"forkedAt,omitempty"`
	Subagent  bool      `json:"subagent,omitempty"`
}

func lineOf(x store.Session) sessionLine {
	return sessionLine{
		ID: x.ID, Title: x.Title, Notes: x.Notes, Cwd: x.Cwd, Model: x.Model, CreatedAt: x.CreatedAt, UpdatedAt: x.UpdatedAt,
		Messages: x.Messages, ParentID: x.Parent, ForkedAt: x.ForkedAt, Subagent: x.Origin != "",
	}
}

func sessionsList() *cobra.Command {
	var f store.Filter
	var asJSON, subagents bool
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, newest first", Args: noArgs,
		Example: "  hermes-ls sessions list\n" +
			"  hermes-ls sessions list --cwd . --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.NoSubagents = !subagents
			if err := absolute(&f.Cwd); err != nil {
				return err
			}
			return listStore(cmd, asJSON, func(st *store.Store) error {
				page, next, err := st.List(cmd.Context(), f)
				if errors.Is(err, store.ErrCursor) {
					return usage(err)
				}
				if err != nil {
					return err
				}
				if asJSON {
					return printSessionLines(shownOn(cmd.OutOrStdout()), page, next)
				}
				if len(page) == 0 && f.Cwd == "" && f.Cursor == "" {
					fmt.Fprintln(cmd.OutOrStdout(), noSessions)
				} else if len(page) == 0 {
					fmt.Fprintln(cmd.OutOrStdout(), "No session matches.")
				}
				printSessions(cmd.OutOrStdout(), page)
				if next != "" {
					fmt.Fprintf(cmd.ErrOrStderr(), "There are more: --cursor %s\n", next)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&f.Cwd, "cwd", "", "only sessions of this `folder`")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "how many at most")
	cmd.Flags().StringVar(&f.Cursor, "cursor", "", "go on where the `list` before ended")
	cmd.Flags().BoolVar(&subagents, "subagents", false, "the sessions of subagents, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line; the last one has the cursor of the next page, if there is one")
	return cmd
}

// absolute makes a path absolute, if it is not empty.
func absolute(folder *string) (err error) {
	if *folder != "" {
		*folder, err = filepath.Abs(*folder)
	}
	return err
}

func printSessionLines(w io.Writer, page []store.Session, next string) error {
	out := bufio.NewWriter(w)
	for _, x := range page {
		if err := cli.JSON(out, lineOf(x)); err != nil {
			return err
		}
	}
	if next != "" {
		if err := cli.JSON(out, map[string]string{"nextCursor": next}); err != nil {
			return err
		}
	}
	return out.Flush()
}

func printSessions(out io.Writer, list []store.Session) {
	table := tabwriter.NewWriter(out, 2, 0, 2, ' ', 0)
	for _, x := range list {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", x.ID, localTime(x.UpdatedAt), x.Messages, cli.Plain(orText(x.Title, "(no title)")), cli.Plain(x.Cwd))
	}
	_ = table.Flush()
}

func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

func orText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func sessionsShow() *cobra.Command {
	var asJSON, ids bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a session as Markdown", Args: exactly(1),
		Example: "  hermes-ls sessions show 0199f2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd.Context(), args[0], func(st *store.Store, id string) error {
				if asJSON {
					return st.Export(cmd.Context(), id, shownOn(cmd.OutOrStdout()), withoutSecrets())
				}
				return showSession(cmd.Context(), cmd.OutOrStdout(), st, id, ids)
			})
		},
	}
	cmd.Flags().BoolVar(&ids, "ids", false, "tell the ids of messages, as fork --at takes them")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line, as export writes it")
	return cmd
}

func showSession(ctx context.Context, out io.Writer, st *store.Store, id string, ids bool) error {
	head, err := st.Session(ctx, id)
	if err != nil {
		return err
	}
	set, err := tools.NewSet(builtin()...)
	if err != nil {
		return fmt.Errorf("listing the tools: %w", err)
	}
	w := &transcript.Writer{Out: harmless{out}, IDs: ids}
	w.Head(head.Title, head.ID, head.Cwd)
	if head.Notes != "" {
		fmt.Fprintf(harmless{out}, "\nNotes: %s\n", head.Notes)
	}
	if err := agent.ReplayStored(ctx, st, id, set, w); err != nil {
		return err
	}
	w.End()
	return w.Err()
}

// harmless removes characters that control the terminal, change the direction of the text, or are
// invisible.
type harmless struct{ out io.Writer }

func (h harmless) Write(data []byte) (int, error) {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Bidi_Control, unseen) {
			return -1
		}
		return r
	}, string(data))
	if _, err := io.WriteString(h.out, text); err != nil {
		return 0, err
	}
	return len(data), nil
}

// unseen are characters without a width that only affect comparisons, such as zero-width spaces,
// line separators and tags. Joiners are not included, because emoji contain them.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x200B, Hi: 0x200B, Stride: 1}, {Lo: 0x2028, Hi: 0x2029, Stride: 1}, {Lo: 0x2060, Hi: 0x2064, Stride: 1}, {Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0xE0000, Hi: 0xE007F, Stride: 1}},
}

// hitLine is a hit in the output of --json.
type hitLine struct {
	SessionID string    `json:"sessionId"`
	Title     string    `json:"title"`
	Cwd       string    `json:"cwd"`
	MessageID string    `json:"messageId,omitempty"`
	Role      string    `json:"role,omitempty"`
	Time      time.Time `json:"time"`
	Snippet   string    `json:"snippet"`
}

func sessionsSearch() *cobra.Command {
	var q store.Query
	var asJSON bool
	cmd := &cobra.Command{
		Use: "search WORDS...", Short: "Search the messages of all sessions, best matches first",
		Example: "  hermes-ls sessions search parser error\n" +
			"  hermes-ls sessions search '\"off by one\"'",
		Long: "Searches prompts, answers, titles and notes. A word also matches the beginning of\nlonger words; \"words in quotes\" must follow each other.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(fmt.Errorf("say what to look for: hermes-ls sessions search parser error"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text = strings.Join(args, " ")
			if err := absolute(&q.Cwd); err != nil {
				return err
			}
			return listStore(cmd, asJSON, func(st *store.Store) error {
				hits, err := st.Search(cmd.Context(), q)
				if err != nil {
					return err
				}
				return printHits(shownOn(cmd.OutOrStdout()), hits, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&q.Cwd, "cwd", "", "only sessions of this `folder`")
	cmd.Flags().IntVar(&q.Limit, "limit", 20, "how many at most")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

func printHits(out io.Writer, hits []store.Hit, asJSON bool) error {
	unmark := strings.NewReplacer(store.Mark, "", store.EndMark, "")
	for _, h := range hits {
		if asJSON {
			line := hitLine{h.Session.ID, h.Session.Title, h.Session.Cwd, h.MessageID, string(h.Role), h.Time, unmark.Replace(h.Snippet)}
			if err := cli.JSON(out, line); err != nil {
				return err
			}
			continue
		}
		who := map[string]string{"user": "You: ", "assistant": "Hermes: "}[string(h.Role)]
		fmt.Fprintf(out, "%s  %s  %s\n    %s%s\n", h.Session.ID, localTime(h.Time), cli.Plain(orText(h.Session.Title, "(no title)")), who, cli.Plain(h.Snippet))
	}
	if len(hits) == 0 && !asJSON {
		fmt.Fprintln(out, "Nothing was found.")
	}
	return nil
}

func sessionsTree() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "tree ID", Short: "List the branches of a session", Args: exactly(1),
		Example: "  hermes-ls sessions tree 0199f2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd.Context(), args[0], func(st *store.Store, id string) error {
				tree, err := st.Tree(cmd.Context(), id)
				if err != nil {
					return err
				}
				if asJSON {
					return printSessionLines(shownOn(cmd.OutOrStdout()), tree, "")
				}
				printTree(cmd.OutOrStdout(), tree)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

// printTree prints each session indented below its parent. If the parent does not exist,
// the session is not indented.
func printTree(out io.Writer, tree []store.Session) {
	children, known := map[string][]store.Session{}, map[string]bool{}
	for _, x := range tree {
		known[x.ID] = true
	}
	for _, x := range tree {
		parent := x.Parent
		if !known[parent] || x.Root == "" {
			parent = ""
		}
		children[parent] = append(children[parent], x)
	}
	var print func(parent, indent string)
	print = func(parent, indent string) {
		for _, x := range children[parent] {
			fmt.Fprintf(out, "%s%s  %s  %s  %s\n", indent, x.ID, localTime(x.UpdatedAt), amount.Plural(x.Messages, "message"), cli.Plain(orText(x.Title, "(no title)")))
			print(x.ID, indent+"  ")
		}
	}
	print("", "")
}

func sessionsDescribe() *cobra.Command {
	var title, notes string
	cmd := &cobra.Command{
		Use: "describe ID", Short: "Change the title or the notes of a session", Args: exactly(1),
		Example: "  hermes-ls sessions describe 0199f2 --title \"Parser rewrite\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			change := server.Description{}
			if cmd.Flags().Changed("title") {
				change.Title = &title
			}
			if cmd.Flags().Changed("notes") {
				change.Notes = &notes
			}
			if change == (server.Description{}) {
				return usage(fmt.Errorf("say --title or --notes"))
			}
			if err := change.Check(); err != nil {
				return usage(err)
			}
			return withSession(cmd.Context(), args[0], func(st *store.Store, id string) error {
				return st.Update(cmd.Context(), id, change.Apply)
			})
		},
	}
	cmd.Flags().StringVar(&title, "title", "", "the new `title`; empty lets the next prompt name the session")
	cmd.Flags().StringVar(&notes, "notes", "", "`text` that is kept with the session and found by search")
	return cmd
}

func sessionsFork() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use: "fork ID", Short: "Copy a session, or its beginning, to a new one, and print its id", Args: exactly(1),
		Example: "  hermes-ls sessions fork 0199f2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd.Context(), args[0], func(st *store.Store, id string) error {
				head, err := agent.Fork(cmd.Context(), st, id, at)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), head.ID)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the `id` of the last message that is kept (show --ids); without it all are")
	return cmd
}
