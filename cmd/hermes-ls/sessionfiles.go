package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

func sessionsExport() *cobra.Command {
	var f store.Filter
	var all bool
	var file string
	cmd := &cobra.Command{
		Use: "export [ID...]", Short: "Write sessions as JSON Lines, with every field, for import",
		Example: "  hermes-ls sessions export 0199f2 > session.jsonl\n" +
			"  hermes-ls sessions export --all > sessions.jsonl",
		Long: "Writes the named sessions, or with --all every session, oldest first. Keys and tokens are withheld.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usage(fmt.Errorf("name sessions, or say --all"))
			}
			if err := absolute(&f.Cwd); err != nil {
				return err
			}
			return withStore(func(st *store.Store) error {
				ids, err := named(cmd.Context(), st, args, f)
				if err != nil {
					return err
				}
				return exportTo(cmd, st, ids, file)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every session, those of subagents too")
	cmd.Flags().StringVar(&f.Cwd, "cwd", "", "with --all: only sessions of this `folder`")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `file`, which must not exist yet, instead of stdout")
	return cmd
}

// named returns the ids of the sessions in args. Without args, it returns all sessions selected by
// f, oldest first.
func named(ctx context.Context, st *store.Store, args []string, f store.Filter) (ids []string, err error) {
	for _, name := range args {
		id, err := st.Resolve(ctx, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if len(args) > 0 {
		return ids, nil
	}
	for f.Limit = 1000; ; {
		page, next, err := st.List(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, x := range page {
			ids = append(ids, x.ID)
		}
		if f.Cursor = next; next == "" {
			slices.Sort(ids) // ids sort by age
			return ids, nil
		}
	}
}

func exportTo(cmd *cobra.Command, st *store.Store, ids []string, file string) (err error) {
	out := io.Writer(cmd.OutOrStdout())
	if file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("writing the export: %w", err)
		}
		out = f
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	buffered := bufio.NewWriter(out)
	defer func() { err = errors.Join(err, buffered.Flush()) }()
	unread, hide := 0, withoutSecrets()
	for _, id := range ids {
		if err := st.Export(cmd.Context(), id, buffered, hide); err != nil {
			unread++
			fmt.Fprintf(cmd.ErrOrStderr(), "hermes-ls: not exported whole: session %s: %v\n", id, err)
		}
	}
	if unread > 0 {
		return fmt.Errorf("%d of %s could not be exported whole", unread, amount.Plural(len(ids), "session"))
	}
	return nil
}

// withoutSecrets returns a function that withholds the user's keys, tokens, and in JSON the values
// of keys with secret-looking names.
func withoutSecrets() func(text string) string {
	secrets := knownSecrets()
	return func(text string) string {
		var plain bytes.Buffer
		if json.Compact(&plain, []byte(text)) != nil {
			return secrets.Text(text)
		}
		if hidden, _ := secrets.JSON([]byte(text)); !bytes.Equal(hidden, plain.Bytes()) {
			return string(hidden)
		}
		return text
	}
}

func sessionsImport() *cobra.Command {
	var renew bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Add exported sessions; - reads stdin", Args: exactly(1),
		Example: "  hermes-ls sessions import sessions.jsonl\n" +
			"  hermes-ls sessions import --new-ids sessions.jsonl",
		Long: "If a session exists already, the import stops and overwrites nothing.\nAn imported session begins in the mode ask, with a system prompt of its own and without further folders.",
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openInput(cmd, args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			conf := loadConfig()
			st := store.New(storePath(), store.Options{Synchronous: conf.Store.Synchronous})
			done, err := st.Import(cmd.Context(), in, store.ImportOptions{NewIDs: renew, Change: withoutRights(conf.Approvals.Mode)})
			for _, x := range done {
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", x.ID, amount.Plural(x.Messages, "message"))
			}
			if errors.Is(err, store.ErrExists) {
				err = fmt.Errorf("%w; --new-ids adds it as a copy", err)
			}
			return errors.Join(err, st.Close())
		},
	}
	cmd.Flags().BoolVar(&renew, "new-ids", false, "give every session a new id")
	return cmd
}

// withoutRights returns a function that removes from an imported session what its file may not
// decide. It removes the mode, unless it is stricter than ask, and additional folders. It removes
// the system prompt with the tools, which are rebuilt when the session is opened, and results of
// subagents for other sessions.
func withoutRights(configured string) func(*store.Session) {
	return func(x *store.Session) {
		switch {
		case x.Mode == server.ModePlan:
		case x.Mode == server.ModeCareful || configured == server.ModeCareful:
			x.Mode = server.ModeCareful
		default:
			x.Mode = server.ModeAsk
		}
		x.Folders, x.System, x.Tools = nil, "", nil
		x.Origin = delegate.Told(x.Origin)
	}
}

func openInput(cmd *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the export: %w", err)
	}
	return f, nil
}

func sessionsMove() *cobra.Command {
	return &cobra.Command{
		Use: "move OLD NEW", Short: "Move the sessions, memory and trust of a folder that was renamed",
		Example: "  hermes-ls sessions move ~/src/shop ~/src/store",
		Long: "Rename the folder first. Sessions of folders below it, checkpoints, the memory of the project, its learnings,\n" +
			"your trust in it and the approvals of its MCP servers move, too.\n" +
			"If OLD has no sessions, the exit code is 1.",
		Args: exactly(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return sessionFolders(cmd.Context()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			m := folderpath.Move{Old: args[0], New: args[1]}
			if err := errors.Join(absolute(&m.Old), absolute(&m.New)); err != nil {
				return err
			}
			if m.Old == "" || m.New == "" {
				return usage(errors.New("name the old folder and the new one"))
			}
			err := withStore(func(st *store.Store) error {
				service := app.New(server.Options{Home: config.Home(os.Environ()), Version: version(), Store: st})
				n, parts, err := service.MoveSessions(cmd.Context(), m)
				if err = errors.Join(err, service.Close()); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Moved from %s to %s: %s.\n", cli.Plain(m.Old), cli.Plain(m.New), strings.Join(append([]string{amount.Plural(n, "session")}, parts...), ", "))
				return nil
			})
			var none noStore
			if errors.As(err, &none) {
				return fmt.Errorf("%s has no sessions: %w", m.Old, err)
			}
			return err
		},
	}
}

// sessionFolders returns the missing folders of the newest sessions, for the completion of a
// command line.
func sessionFolders(ctx context.Context) (folders []string) {
	_ = withStore(func(st *store.Store) error { // without a store, there are none
		page, _, err := st.List(ctx, store.Filter{NoSubagents: true})
		for _, x := range page {
			if _, gone := os.Stat(x.Cwd); errors.Is(gone, fs.ErrNotExist) && !slices.Contains(folders, x.Cwd) {
				folders = append(folders, x.Cwd)
			}
		}
		return err
	})
	return folders
}

func sessionsRemove() *cobra.Command {
	return &cobra.Command{
		Use: "rm ID...", Short: "Delete sessions with their checkpoints and outputs",
		Example: "  hermes-ls sessions rm 0199f2",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(fmt.Errorf("name the sessions to delete"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(func(st *store.Store) error {
				ids, err := named(cmd.Context(), st, args, store.Filter{})
				if err != nil {
					return err
				}
				service := app.New(server.Options{Home: config.Home(os.Environ()), Version: version(), Store: st})
				for _, id := range ids {
					if err := removeSession(cmd.Context(), st, service, id); err != nil {
						return err
					}
				}
				// Wait until the deleted sessions are removed from the file.
				return errors.Join(st.Swept(cmd.Context()), service.Close())
			})
		},
	}
}

// removeSession deletes a session without a claim of another process. If the session was already
// deleted together with its parent, it returns nil.
func removeSession(ctx context.Context, st *store.Store, service *server.Service, id string) error {
	release, err := st.Claim(id)
	if err != nil {
		return err
	}
	defer release()
	if err := service.Delete(ctx, id); !errors.Is(err, server.ErrNoSession) {
		return err
	}
	return nil
}

func sessionsCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Read the whole session store and report damage", Args: noArgs,
		Example: "  hermes-ls sessions check",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Stat(storePath()); errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintln(cmd.OutOrStdout(), "There are no sessions yet. The first prompt starts one.")
				return nil
			}
			return withStore(func(st *store.Store) error {
				problems, err := st.Check(cmd.Context())
				for _, p := range problems {
					fmt.Fprintln(cmd.OutOrStdout(), cli.Plain(p))
				}
				if err != nil {
					return err
				}
				if len(problems) > 0 {
					return fmt.Errorf("%s is damaged; nothing was changed: restore it from a backup, see what can be read with hermes-ls sessions export --all, or move it away with hermes-ls sessions set-aside", st.Path())
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is whole\n", st.Path())
				return nil
			})
		},
	}
}

func sessionsSetAside() *cobra.Command {
	return &cobra.Command{
		Use: "set-aside", Short: "Rename a damaged session store, so that the next prompt starts a new one", Args: noArgs,
		Example: "  hermes-ls sessions set-aside",
		Long:    "The content of the store is not changed. Close your editors first: a server that still runs would\ncontinue to write to the old store.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			to, err := store.SetAside(storePath(), time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The session store is now %s\n", to)
			return nil
		},
	}
}
