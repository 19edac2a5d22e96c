package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/cmd/editors"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	programs "github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		Short:   "Check what the agent needs, one line for each check",
		Example: "  hermes-ls doctor",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 30*time.Second)
			defer cancel()
			failed := false
			for _, f := range examine(ctx, loadConfig()) {
				fmt.Fprintf(cmd.OutOrStdout(), "%-4s  %-11s %s\n", f.State, f.What, f.Text)
				failed = failed || f.State == cli.Fail
			}
			if failed {
				return &cli.Exit{Code: cli.Failed}
			}
			return nil
		},
	}
}

func examine(ctx context.Context, loaded *config.Loaded) []cli.Finding {
	var out []cli.Finding
	for _, p := range loaded.Problems {
		state := cli.Note
		if p.Source == config.Path(loaded.Home) {
			state = cli.Fail // the user's setting has no effect
		}
		out = append(out, cli.Finding{State: state, What: "config", Text: p.String()})
	}
	if !slices.ContainsFunc(out, func(f cli.Finding) bool { return f.State == cli.Fail }) {
		out = slices.Insert(out, 0, configFinding(loaded))
	}
	out = append(out, backendFindings(ctx, loaded)...)
	out = append(out, app.Doctor(ctx, app.Home(version()), loaded)...)
	out = append(out, homeFinding(loaded.Home), storeFinding(ctx, loaded.Home))
	out = append(out, modelFindings(ctx, loaded)...)
	return append(out,
		programFinding("ripgrep", "rg", "searches use the built-in engine, which is slower on large trees"),
		programFinding("git", "git", "ignore rules still count; diffs are our own"),
		sandboxFinding(ctx, loaded), environFinding(ctx, loaded), editorsFinding())
}

func configFinding(loaded *config.Loaded) cli.Finding {
	path := config.Path(loaded.Home)
	if _, err := os.Stat(path); err != nil {
		return cli.Finding{State: cli.OK, What: "config", Text: path + " does not exist; the defaults apply"}
	}
	return cli.Finding{State: cli.OK, What: "config", Text: path}
}

// homeFinding checks whether sessions can be stored.
func homeFinding(home string) cli.Finding {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return cli.Finding{State: cli.Fail, What: "home", Text: fmt.Sprintf("cannot be made: %v", err)}
	}
	probe, err := os.CreateTemp(home, ".doctor-*")
	if err != nil {
		return cli.Finding{State: cli.Fail, What: "home", Text: fmt.Sprintf("cannot be written, so no session can be saved: %v", err)}
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return cli.Finding{State: cli.OK, What: "home", Text: home}
}

// storeFinding checks the stored sessions. If there are none, it says so.
func storeFinding(ctx context.Context, home string) cli.Finding {
	st := store.New(filepath.Join(home, store.FileName), store.Options{})
	defer st.Close()
	if _, err := os.Stat(st.Path()); err != nil {
		return cli.Finding{State: cli.OK, What: "sessions", Text: "none yet"}
	}
	page, _, err := st.List(ctx, store.Filter{NoSubagents: true, Limit: 1})
	switch {
	case err != nil:
		return cli.Finding{State: cli.Fail, What: "sessions", Text: err.Error()}
	case len(page) == 0:
		return cli.Finding{State: cli.OK, What: "sessions", Text: "none yet, in " + st.Path()}
	}
	return cli.Finding{State: cli.OK, What: "sessions", Text: fmt.Sprintf("%s, last used %s", st.Path(), localTime(page[0].UpdatedAt))}
}

func programFinding(what, program, without string) cli.Finding {
	cwd, _ := os.Getwd() // if it is not known, no directory is excluded
	if path, err := programs.Find(program, []string{cwd}); err == nil {
		return cli.Finding{State: cli.OK, What: what, Text: path}
	}
	return cli.Finding{State: cli.Note, What: what, Text: program + " is not on PATH (outside of the workspace): " + without}
}

// sandboxFinding tries the sandbox and describes its limits and gaps.
func sandboxFinding(ctx context.Context, loaded *config.Loaded) cli.Finding {
	want := sandbox.Policy{Mode: sandbox.Mode(loaded.Sandbox.Mode), Network: loaded.Sandbox.Network}
	if err := want.Mode.Check(); err != nil {
		return cli.Finding{State: cli.Fail, What: "sandbox", Text: err.Error() + ". Commands and scripts are rejected"}
	}
	var m sandbox.Mechanism
	if want.Mode != sandbox.Off {
		m = sandbox.Detect(ctx)
	}
	text := m.Says(want)
	if want.Mode == sandbox.Off {
		return cli.Finding{State: cli.Note, What: "sandbox", Text: strings.Join(append([]string{text}, m.Gaps(want)...), "; ")}
	}
	if m.Kind == sandbox.Unknown {
		return cli.Finding{State: cli.Fail, What: "sandbox", Text: "commands are rejected, because the sandbox cannot be tried: " + m.Reason}
	}
	if gaps := m.Gaps(want); len(gaps) > 0 {
		return cli.Finding{State: cli.Note, What: "sandbox", Text: text + ". Not enforced: " + strings.Join(gaps, "; ")}
	}
	return cli.Finding{State: cli.OK, What: "sandbox", Text: text}
}

func environFinding(ctx context.Context, loaded *config.Loaded) cli.Finding {
	env, withheld := proc.Environ(loaded.Terminal.EnvPassthrough)
	text := "nothing looks secret, so commands see all of it"
	if len(withheld) > 0 {
		text = "withheld from commands: " + strings.Join(withheld, ", ")
	}
	login := server.LoginPath(env, func() *config.Loaded { return loaded })
	defer login.Close()
	path, _ := login.Path(ctx)
	text += ". " + login.From()
	own := filepath.SplitList(os.Getenv("PATH"))
	added := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return slices.Contains(own, dir) })
	if len(added) > 0 {
		text += "; added for commands: " + strings.Join(added, ", ")
	}
	return cli.Finding{State: cli.OK, What: "environment", Text: text}
}

func editorsFinding() cli.Finding {
	var found []string
	for _, e := range editors.Found() {
		found = append(found, e.Name)
	}
	if len(found) == 0 {
		return cli.Finding{State: cli.Note, What: "editors", Text: "none on PATH; each one that speaks LSP or ACP can start hermes-ls"}
	}
	return cli.Finding{State: cli.OK, What: "editors", Text: strings.Join(found, ", ")}
}
