package main

import (
	"context"
	"errors"
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
	"github.com/hermes-ls/hermes-ls/cmd/hookscmd"
	"github.com/hermes-ls/hermes-ls/cmd/plugincmd"
	"github.com/hermes-ls/hermes-ls/cmd/skillscmd"
	"github.com/hermes-ls/hermes-ls/codeexec"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/web"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	programs "github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/server"
)

// finding is a line of the doctor.
type finding struct {
	state string // ok, note, fail
	what  string
	text  string
}

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
				fmt.Fprintf(cmd.OutOrStdout(), "%-4s  %-11s %s\n", f.state, f.what, f.text)
				failed = failed || f.state == "fail"
			}
			if failed {
				return &cli.Exit{Code: cli.Failed}
			}
			return nil
		},
	}
}

func examine(ctx context.Context, loaded *config.Loaded) []finding {
	var out []finding
	for _, p := range loaded.Problems {
		state := "note"
		if p.Source == config.Path(loaded.Home) {
			state = "fail" // the user's setting has no effect
		}
		out = append(out, finding{state, "config", p.String()})
	}
	if !slices.ContainsFunc(out, func(f finding) bool { return f.state == "fail" }) {
		out = slices.Insert(out, 0, configFinding(loaded))
	}
	out = append(out, backendFindings(ctx, loaded)...)
	out = append(out, mcpFindings(ctx, loaded)...)
	if text := skillscmd.Check(ctx, loaded); text != "" {
		out = append(out, finding{"note", "skills", text})
	}
	out = append(append(out, hookFindings(loaded)...), pluginFindings(loaded)...)
	out = append(out, homeFinding(loaded.Home), storeFinding(ctx, loaded.Home))
	out = append(out, modelFindings(ctx, loaded)...)
	return append(out, pythonFinding(ctx, loaded),
		programFinding("ripgrep", "rg", "searches use the built-in engine, which is slower on large trees"),
		programFinding("git", "git", "ignore rules still count; diffs are our own"),
		sandboxFinding(ctx, loaded), environFinding(ctx, loaded), searchFinding(loaded), editorsFinding())
}

// hookFindings says which hooks cannot start or never run. If there are no hooks, it returns none.
func hookFindings(loaded *config.Loaded) []finding {
	n, unfit, problems := hookscmd.Check(loaded)
	switch {
	case len(problems) > 0:
		return []finding{{"fail", "hooks", errors.Join(problems...).Error()}}
	case len(unfit) > 0:
		return []finding{{"note", "hooks", strings.Join(unfit, "; ")}}
	case n == 0:
		return nil
	}
	return []finding{{"ok", "hooks", fmt.Sprintf("%d, all can start", n)}}
}

// pluginFindings says which enabled plugins are not loaded. If no plugin is enabled, it returns none.
func pluginFindings(loaded *config.Loaded) []finding {
	n, problems := plugincmd.Check(loaded)
	switch {
	case len(problems) > 0:
		return []finding{{"note", "plugins", strings.Join(problems, " ")}}
	case n == 0:
		return nil
	}
	return []finding{{"ok", "plugins", fmt.Sprintf("%d enabled", n)}}
}

func configFinding(loaded *config.Loaded) finding {
	path := config.Path(loaded.Home)
	if _, err := os.Stat(path); err != nil {
		return finding{"ok", "config", path + " does not exist; the defaults apply"}
	}
	return finding{"ok", "config", path}
}

// homeFinding checks whether sessions can be stored.
func homeFinding(home string) finding {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return finding{"fail", "home", fmt.Sprintf("cannot be made: %v", err)}
	}
	probe, err := os.CreateTemp(home, ".doctor-*")
	if err != nil {
		return finding{"fail", "home", fmt.Sprintf("cannot be written, so no session can be saved: %v", err)}
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return finding{"ok", "home", home}
}

// storeFinding checks the stored sessions. If there are none, it says so.
func storeFinding(ctx context.Context, home string) finding {
	st := store.New(filepath.Join(home, store.FileName), store.Options{})
	defer st.Close()
	if _, err := os.Stat(st.Path()); err != nil {
		return finding{"ok", "sessions", "none yet"}
	}
	page, _, err := st.List(ctx, store.Filter{NoSubagents: true, Limit: 1})
	switch {
	case err != nil:
		return finding{"fail", "sessions", err.Error()}
	case len(page) == 0:
		return finding{"ok", "sessions", "none yet, in " + st.Path()}
	}
	return finding{"ok", "sessions", fmt.Sprintf("%s, last used %s", st.Path(), localTime(page[0].UpdatedAt))}
}

// pythonFinding names the interpreter for scripts in this directory, and why others were
// not chosen.
func pythonFinding(ctx context.Context, loaded *config.Loaded) finding {
	settings := config.SectionOf[codeexec.Settings](loaded, "code_execution")
	search := codeexec.Search{Configured: settings.Python, Environ: os.Environ(), Strict: settings.Mode == "strict"}
	if cwd, err := os.Getwd(); err == nil {
		search.Folders = []string{cwd}
	}
	// An interpreter of the workspace is tried in the sandbox, as its scripts run.
	box := sandbox.New(sandbox.Config{
		Mode: sandbox.Mode(loaded.Sandbox.Mode), Network: loaded.Sandbox.Network,
		Caches: loaded.Sandbox.Caches, Read: loaded.Sandbox.Read,
		HermesHome: loaded.Home, Roots: func() []string { return search.Folders },
	})
	defer box.Close()
	search.Confine = func(ctx context.Context, c *proc.Cmd) error { return box.Confine(ctx, c) }
	found, err := codeexec.NewPythons().Find(ctx, search)
	if err != nil {
		return finding{"note", "python", err.Error() + "; the demo and scripts need it"}
	}
	text := fmt.Sprintf("%s (%s), %s", found.Path, found.Version, found.Why)
	if len(found.Passed) > 0 {
		return finding{"note", "python", text + "; passed over: " + strings.Join(found.Passed, "; ")}
	}
	return finding{"ok", "python", text}
}

func programFinding(what, program, without string) finding {
	cwd, _ := os.Getwd() // if it is not known, no directory is excluded
	if path, err := programs.Find(program, []string{cwd}); err == nil {
		return finding{"ok", what, path}
	}
	return finding{"note", what, program + " is not on PATH (outside of the workspace): " + without}
}

// sandboxFinding tries the sandbox and describes its limits and gaps.
func sandboxFinding(ctx context.Context, loaded *config.Loaded) finding {
	want := sandbox.Policy{Mode: sandbox.Mode(loaded.Sandbox.Mode), Network: loaded.Sandbox.Network}
	if err := want.Mode.Check(); err != nil {
		return finding{"fail", "sandbox", err.Error() + ". Commands and scripts are rejected"}
	}
	var m sandbox.Mechanism
	if want.Mode != sandbox.Off {
		m = sandbox.Detect(ctx)
	}
	text := m.Says(want)
	if want.Mode == sandbox.Off {
		return finding{"note", "sandbox", strings.Join(append([]string{text}, m.Gaps(want)...), "; ")}
	}
	if m.Kind == sandbox.Unknown {
		return finding{"fail", "sandbox", "commands are rejected, because the sandbox cannot be tried: " + m.Reason}
	}
	if gaps := m.Gaps(want); len(gaps) > 0 {
		return finding{"note", "sandbox", text + ". Not enforced: " + strings.Join(gaps, "; ")}
	}
	return finding{"ok", "sandbox", text}
}

func environFinding(ctx context.Context, loaded *config.Loaded) finding {
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
	return finding{"ok", "environment", text}
}

func searchFinding(loaded *config.Loaded) finding {
	search := config.SectionOf[web.Settings](loaded, "web").Search
	engine, err := search.Engine(loaded)
	switch {
	case err != nil:
		return finding{"note", "web search", err.Error()}
	case engine == nil:
		return finding{"note", "web search", "none: the model can search once web.search.backend is set (searxng, brave, tavily, firecrawl, json)"}
	}
	where, _, _ := strings.Cut(engine.URL, "?")
	return finding{"ok", "web search", search.Backend + " at " + where}
}

func editorsFinding() finding {
	var found []string
	for _, e := range editors.Found() {
		found = append(found, e.Name)
	}
	if len(found) == 0 {
		return finding{"note", "editors", "none on PATH; each one that speaks LSP or ACP can start hermes-ls"}
	}
	return finding{"ok", "editors", strings.Join(found, ", ")}
}
