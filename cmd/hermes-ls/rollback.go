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
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/checkpoints"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// rollbackFlags are the flags of rollback.
type rollbackFlags struct {
	session           string
	list, diff, force bool
}

func rollbackCommand() *cobra.Command {
	var flags rollbackFlags
	cmd := &cobra.Command{
		Use:   "rollback [flags] [CHECKPOINT] [FILES...]",
		Short: "Restore files to their state before a turn",
		Example: "  hermes-ls rollback               # list the checkpoints\n" +
			"  hermes-ls rollback --diff 1      # compare with the newest one\n" +
			"  hermes-ls rollback 1             # restore all files that turns changed since\n" +
			"  hermes-ls rollback 2 src/a.py    # restore one file",
		Long: "Without CHECKPOINT, it lists the checkpoints of the session. CHECKPOINT is a number of the list\n" +
			"(1 is the newest) or the end of an id. Without FILES, everything that turns have changed since is\n" +
			"restored. Later changes of yours are kept. A rollback makes a checkpoint, so it can be undone.",
		RunE: func(cmd *cobra.Command, args []string) error { return rollback(cmd, flags, args) },
	}
	cmd.Flags().StringVar(&flags.session, "session", "", "`id` of the session, or the beginning of one; else the newest one of this folder that has checkpoints")
	cmd.Flags().BoolVar(&flags.list, "list", false, "list the checkpoints")
	cmd.Flags().BoolVar(&flags.diff, "diff", false, "show the changes since CHECKPOINT, and restore nothing")
	cmd.Flags().BoolVar(&flags.force, "force", false, "overwrite later changes of yours, too")
	return cmd
}

func rollback(cmd *cobra.Command, flags rollbackFlags, args []string) (err error) {
	ctx := cmd.Context()
	home := config.Home(os.Environ())
	sessions := store.New(filepath.Join(home, store.FileName), store.Options{})
	defer func() { err = errors.Join(err, sessions.Close()) }()
	at := checkpoint.New(home)
	head, err := rollbackSession(ctx, sessions, at, flags.session)
	var none noCheckpoints
	if errors.As(err, &none) && len(args) == 0 { // an empty list
		fmt.Fprintf(cmd.OutOrStdout(), "No session has checkpoints in %s: none has changed files there, or none could be written.\n", string(none))
		return nil
	}
	if err != nil {
		return err
	}
	if err := openable(head); err != nil {
		return err
	}
	files, err := workspace.Open(append([]string{head.Cwd}, head.Folders...), nil)
	if err != nil {
		return fmt.Errorf("opening the session's folders: %w", err)
	}
	files.Unfinished = workspace.UnfinishedIn(home)
	workspace.Sweep(files.Unfinished)
	conf := app.Config().Load(home, config.Options{Environ: os.Environ(), Folders: files.Folders()})
	box := sandbox.New(sandbox.Config{Mode: sandbox.Mode(conf.Sandbox.Mode), Roots: files.Folders, HermesHome: home})
	defer box.Close()
	keeper := at.Keeper(checkpoint.Config{
		Session: head.ID, Files: files,
		Limits: config.SectionOf[checkpoints.Settings](conf, "checkpoints").Limits,
		Confine: func(ctx context.Context, c *proc.Cmd, reads ...string) error {
			return box.ConfineOwn(ctx, c, sandbox.Own{Reads: reads})
		},
		Log: checkpoints.Missed(sessions.State(head.ID, checkpoints.Name)),
	})
	files.Journal = keeper.Journal
	defer func() {
		err = errors.Join(err, keeper.Close(context.WithoutCancel(ctx)), files.Close(), at.Close())
	}()
	all, err := keeper.List(ctx)
	if err != nil {
		return err
	}
	if len(args) == 0 || flags.list {
		return printCheckpoints(cmd, files, head, all, keeper.Missed(time.Time{}, nil))
	}
	chosen, err := chooseCheckpoint(all, args[0])
	if err != nil {
		return err
	}
	paths, err := absolutePaths(args[1:])
	if err != nil {
		return err
	}
	if flags.diff {
		text, err := keeper.Diff(ctx, chosen.ID, paths)
		if err == nil {
			_, err = fmt.Fprint(shownOn(cmd.OutOrStdout()), text)
		}
		return err
	}
	release, err := sessions.Claim(head.ID)
	if err != nil {
		return fmt.Errorf("the session %q is at work in another window; stop its turn first: %w", head.Title, err)
	}
	defer release()
	out, err := keeper.Restore(ctx, chosen.ID, checkpoint.Choice{Files: paths, Exact: flags.force, Force: forced(cmd, flags, len(paths) > 0, func(path string) string {
		text, err := keeper.Preview(ctx, chosen.ID, []string{path})
		if err != nil {
			return err.Error() + "\n"
		}
		return text
	})})
	printRestored(cmd, files, out)
	return errors.Join(err, checkpoints.NoteRestored(ctx, sessions.State(head.ID, checkpoints.Name), files, out.Restored))
}

// openable returns an error if a folder of a session does not exist.
func openable(head store.Session) error {
	for _, folder := range append([]string{head.Cwd}, head.Folders...) {
		if err := server.FolderGone(folder, ""); err != nil {
			return err
		}
	}
	return nil
}

// noCheckpoints is the error for a directory without sessions with checkpoints.
type noCheckpoints string

func (dir noCheckpoints) Error() string {
	return fmt.Sprintf("no session has checkpoints in %s; name one with --session", string(dir))
}

// rollbackSession returns the session with the id. If id is empty, it returns the newest
// session with checkpoints in the current directory or the nearest directory above it.
func rollbackSession(ctx context.Context, sessions *store.Store, at *checkpoint.Store, id string) (store.Session, error) {
	if id != "" {
		whole, err := sessions.Resolve(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return store.Session{}, usage(fmt.Errorf("there is no session %q; hermes-ls sessions list names those there are", id))
		}
		if err != nil {
			return store.Session{}, err
		}
		return sessions.Session(ctx, whole)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return store.Session{}, fmt.Errorf("finding the current directory: %w", err)
	}
	if _, err := os.Stat(sessions.Path()); errors.Is(err, fs.ErrNotExist) {
		return store.Session{}, noCheckpoints(cwd)
	}
	for dir := cwd; ; dir = filepath.Dir(dir) {
		head, found, err := newestWith(ctx, sessions, at, dir)
		if found || err != nil {
			return head, err
		}
		if dir == filepath.Dir(dir) {
			return head, noCheckpoints(cwd)
		}
	}
}

// newestWith returns the newest session with checkpoints and with dir as a workspace folder, not
// only as the first.
func newestWith(ctx context.Context, sessions *store.Store, at *checkpoint.Store, dir string) (head store.Session, found bool, err error) {
	head, found, err = newestIn(ctx, sessions, at, dir)
	if err != nil {
		return head, false, err
	}
	ids, err := at.SessionsIn(dir)
	if err != nil {
		return head, false, err
	}
	for _, id := range ids {
		x, err := sessions.Session(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound): // it was deleted
		case err != nil:
			return head, false, err
		case at.Has(id) && (!found || x.UpdatedAt.After(head.UpdatedAt)):
			head, found = x, true
		}
	}
	return head, found, nil
}

// newestIn returns the newest session with checkpoints and with dir as its first folder.
func newestIn(ctx context.Context, sessions *store.Store, at *checkpoint.Store, dir string) (head store.Session, found bool, err error) {
	for cursor := ""; ; {
		page, next, err := sessions.List(ctx, store.Filter{Cwd: dir, Cursor: cursor})
		if err != nil {
			return head, false, err
		}
		i := slices.IndexFunc(page, func(x store.Session) bool { return at.Has(x.ID) })
		if i >= 0 {
			return page[i], true, nil
		}
		if cursor = next; cursor == "" {
			return head, false, nil
		}
	}
}

func absolutePaths(names []string) (paths []string, err error) {
	for _, name := range names {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("finding %s: %w", name, err)
		}
		if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(folder, filepath.Base(path))
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// chooseCheckpoint returns a checkpoint by its number in the list or by the end of its id.
func chooseCheckpoint(all []checkpoint.Info, said string) (checkpoint.Info, error) {
	if n, err := strconv.Atoi(said); err == nil && n >= 1 && n <= len(all) && len(said) < 4 {
		return all[n-1], nil
	}
	var found []checkpoint.Info
	for _, c := range all {
		if len(said) >= 4 && (strings.HasSuffix(c.ID, said) || c.ID == said) {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return checkpoint.Info{}, usage(fmt.Errorf("there is no checkpoint %q; hermes-ls rollback --list names the %d there are", said, len(all)))
	}
	return checkpoint.Info{}, usage(fmt.Errorf("%d checkpoints end with %q; say more of the id", len(found), said))
}

func printCheckpoints(cmd *cobra.Command, files *workspace.Workspace, head store.Session, all []checkpoint.Info, missed []checkpoint.Missed) error {
	out := harmless{cmd.OutOrStdout()}
	defer printMissed(out, files, missed)
	if len(all) == 0 && len(missed) > 0 {
		_, err := fmt.Fprintf(out, "The session %q has no checkpoints.\n", head.Title)
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(out, "The session %q has no checkpoints: it has changed nothing.\n", head.Title)
		return err
	}
	fmt.Fprintf(out, "Session %s  %s\n\n", head.ID, head.Title)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, c := range all {
		changed := amount.Plural(len(c.Files), "file")
		if len(c.Files) == 1 {
			changed = printable(filepath.Base(c.Files[0]))
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\n", i+1, c.Created.Local().Format("2006-01-02 15:04:05"), c.ID[max(0, len(c.ID)-8):], changed, printable(c.Title))
	}
	fmt.Fprintln(table)
	return table.Flush()
}

// printMissed prints the files missing in the checkpoints.
func printMissed(out io.Writer, files *workspace.Workspace, missed []checkpoint.Missed) {
	for _, m := range missed {
		var names []string
		for _, path := range m.Files {
			names = append(names, printable(files.Name(path)))
		}
		if m.Commands {
			names = append(names, "what commands have changed")
		}
		fmt.Fprintf(out, "Cannot be restored, because no checkpoint has it (%s): %s\n", printable(m.Why), strings.Join(names, ", "))
	}
}

// shownOn returns out. If out is a terminal, it removes control characters from the
// output. A diff for another program stays as it is.
func shownOn(out io.Writer) io.Writer {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return harmless{out}
	}
	return out
}

// printable replaces control characters of a text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

// forced returns the function that decides whether to overwrite files changed since. First, the
// function shows the changes that would be lost. If there is no terminal, or no files are named,
// forced returns nil.
func forced(cmd *cobra.Command, flags rollbackFlags, named bool, lost func(path string) string) func(path string) bool {
	switch {
	case flags.force:
		return func(string) bool { return true }
	case !named || !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stderr.Fd())):
		return nil
	}
	in := bufio.NewReader(os.Stdin)
	return func(path string) bool {
		fmt.Fprint(harmless{cmd.ErrOrStderr()}, lost(path))
		fmt.Fprintf(cmd.ErrOrStderr(), "%s was changed since, outside of a turn. Overwrite it? [y/N] ", printable(path))
		answer, _ := in.ReadString('\n') // no answer means no
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
	}
}

func printRestored(cmd *cobra.Command, files *workspace.Workspace, out checkpoint.Outcome) {
	for _, path := range out.Restored {
		fmt.Fprintf(cmd.OutOrStdout(), "restored  %s\n", printable(files.Name(path)))
	}
	for _, k := range out.Kept {
		fmt.Fprintf(cmd.OutOrStdout(), "kept      %s: %s\n", printable(files.Name(k.Path)), printable(k.Why))
	}
	for _, m := range out.Missed {
		if m.Commands {
			fmt.Fprintf(cmd.OutOrStdout(), "kept      what commands have changed: no checkpoint has it: %s\n", printable(m.Why))
		}
	}
	if len(out.Restored)+len(out.Kept)+len(out.Missed) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "No file had to be restored.")
	}
}
