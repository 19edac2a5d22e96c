package codeexec

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
)

// Doctor names the interpreter for scripts in this directory, and why others were
// not chosen.
func Doctor(ctx context.Context, _ cli.Home, loaded *config.Loaded) []cli.Finding {
	settings := config.SectionOf[Settings](loaded, "code_execution")
	search := Search{Configured: settings.Python, Environ: os.Environ(), Strict: settings.Mode == "strict"}
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
	found, err := NewPythons().Find(ctx, search)
	if err != nil {
		return []cli.Finding{{State: cli.Note, What: "python", Text: err.Error() + "; the demo and scripts need it"}}
	}
	text := fmt.Sprintf("%s (%s), %s", found.Path, found.Version, found.Why)
	if len(found.Passed) > 0 {
		return []cli.Finding{{State: cli.Note, What: "python", Text: text + "; passed over: " + strings.Join(found.Passed, "; ")}}
	}
	return []cli.Finding{{State: cli.OK, What: "python", Text: text}}
}
