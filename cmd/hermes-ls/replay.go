package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/replay"
)

func replayCommand() *cobra.Command {
	var o struct {
		workspace, keep string
		approve, json   bool
	}
	cmd := &cobra.Command{
		Use:   "replay SESSION|FILE.jsonl",
		Short: "Run the tool calls of a session again, without a model, and compare the results",
		Example: "  hermes-ls replay 0199f2\n" +
			"  hermes-ls replay session.jsonl",
		Long: "The calls run in a copy of the workspace, in the sandbox and without network. SESSION is an id, its\n" +
			"beginning, or a file of sessions export. Exit 0: all results are as they were; 1: some differ.",
		Args: func(cmd *cobra.Command, args []string) error { return usage(cobra.ExactArgs(1)(cmd, args)) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.workspace, "workspace", "", "folder to start from (default: the session's, as it was when the session began)")
	flags.StringVar(&o.keep, "keep", "", "play in this new folder, and leave it there")
	flags.BoolVar(&o.approve, "approve", false, "also run what asked and was allowed then")
	flags.BoolVar(&o.json, "json", false, "one JSON object a call, and the counts at the end")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out := &replayed{out: cmd.OutOrStdout(), json: o.json}
		report, err := playSession(cmd.Context(), args[0], o.workspace, o.keep, replay.Config{Approve: o.approve, OnCall: out.call})
		if err != nil {
			return err
		}
		out.end(report)
		if report.Count(replay.Differs) > 0 {
			return &cli.Exit{Code: cli.Failed}
		}
		return nil
	}
	return cmd
}

// playSession plays a session in a copy of its workspace. The session is in the store, or in a file
// written by `sessions export`.
func playSession(ctx context.Context, name, from, keep string, c replay.Config) (*replay.Report, error) {
	dir, err := scratch.New("replay")
	if err != nil {
		return nil, err
	}
	defer dir.Remove() // the next start removes the rest
	read := func(st *store.Store, id string) (err error) {
		if c.Head, err = st.Session(ctx, id); err == nil {
			c.Messages, err = st.Messages(ctx, id, 0, 0)
		}
		return err
	}
	exported := strings.HasSuffix(name, ".jsonl")
	if exported {
		err = withExport(ctx, name, dir.Path("export.db"), read)
	} else {
		err = withSession(ctx, name, read)
	}
	if err != nil {
		return nil, err
	}
	c.Home, c.Version = dir.Path("home"), version()
	c.Workspace = dir.Path("workspace")
	if keep != "" {
		if c.Workspace, err = filepath.Abs(keep); err != nil {
			return nil, fmt.Errorf("--keep: %w", err)
		}
	}
	if !exported && from == "" {
		if err := server.FolderGone(c.Head.Cwd, ""); err != nil {
			return nil, fmt.Errorf("%w, or choose another one with --workspace", err)
		}
	}
	if exported && from == "" {
		home, err := os.UserHomeDir()
		if err == nil {
			err = mayCopy(home, c.Head.Cwd)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := replay.CopyWorkspace(cmp.Or(from, c.Head.Cwd), c.Workspace); err != nil {
		return nil, err
	}
	if from == "" && !exported {
		if _, err := replay.RestoreStart(ctx, config.Home(os.Environ()), c.Head.ID, c.Head.Cwd, c.Workspace); err != nil {
			return nil, fmt.Errorf("going back to where the session began: %w", err)
		}
	}
	return replay.Play(ctx, c)
}

// mayCopy returns an error if an exported file must not choose a folder as its workspace.
// The folder would be copied, and the recorded commands could read the copy.
func mayCopy(home, folder string) error {
	refuse := func(why string) error {
		return fmt.Errorf("the file names %s as its workspace, %s. Nothing was copied. Choose a folder with --workspace", escape.Line(folder), why)
	}
	if !filepath.IsAbs(folder) {
		return refuse("which is not an absolute path")
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return refuse("which cannot be opened")
	}
	if resolved, err := filepath.EvalSymlinks(home); err == nil {
		home = resolved
	}
	if inside, err := filepath.Rel(real, home); err == nil && filepath.IsLocal(inside) {
		return refuse("which has your home folder in it")
	}
	if below, err := filepath.Rel(home, real); err == nil && strings.HasPrefix(below, ".") && filepath.IsLocal(below) {
		return refuse("a hidden folder of your home folder")
	}
	return nil
}

// withExport imports an exported file into a temporary store and passes its first session
// to work.
func withExport(ctx context.Context, file, at string, work func(st *store.Store, id string) error) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	st := store.New(at, store.Options{})
	defer func() { err = errors.Join(err, st.Close()) }()
	all, err := st.Import(ctx, f, store.ImportOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(all) == 0 {
		return fmt.Errorf("%s holds no session", file)
	}
	return work(st, all[0].ID)
}

// replayed prints the progress of a replay.
type replayed struct {
	out  io.Writer
	json bool
}

var replayMarks = map[replay.Verdict]string{replay.Same: "=", replay.Differs: "≠", replay.NotPlayed: "–"}

func (r *replayed) call(c replay.Call) {
	if r.json {
		r.line(c)
		return
	}
	fmt.Fprintf(r.out, "%s %s", replayMarks[c.Verdict], shorten.FirstLine(c.Title))
	if c.Why != "" {
		fmt.Fprintf(r.out, " (not played: %s)", c.Why)
	}
	fmt.Fprintf(r.out, "\n%s", c.Diff)
}

func (r *replayed) end(report *replay.Report) {
	same, differ, rest := report.Count(replay.Same), report.Count(replay.Differs), report.Count(replay.NotPlayed)
	if r.json {
		r.line(map[string]int{"prompts": report.Prompts, "calls": len(report.Calls), "same": same, "differ": differ, "notPlayed": rest})
		return
	}
	fmt.Fprintf(r.out, "%s, %s: %d with the same result, %d with another, %d not played\n",
		amount.Plural(report.Prompts, "prompt"), amount.Plural(len(report.Calls), "call"), same, differ, rest)
}

func (r *replayed) line(v any) {
	_ = cli.JSON(r.out, v) // as for the other lines
}
