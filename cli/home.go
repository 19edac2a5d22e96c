package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

// Home is the program, as the commands and checks of a feature see it: outside of a session.
type Home struct {
	Version string
	Schema  func() *config.Schema                  // of config.yaml, with the sections of all features
	Path    func(home string) userpath.Finder      // PATH of the user's programs
	Secrets func(*config.Loaded) map[string]string // values to redact, by name
}

// Dir returns $HERMES_HOME, or its default.
func (h Home) Dir() string { return config.Home(os.Environ()) }

// Load reads the configuration for sessions in folders.
func (h Home) Load(folders ...string) *config.Loaded {
	return h.Schema().Load(h.Dir(), config.Options{Environ: os.Environ(), Folders: folders})
}

// LoadHere reads the configuration for a session in the working directory. If the directory is
// unknown, it reads the configuration without a folder.
func (h Home) LoadHere() *config.Loaded {
	if folder, err := os.Getwd(); err == nil {
		return h.Load(folder)
	}
	return h.Load()
}

// Groups of the commands in the help, in their order.
const (
	GroupStart    = "start"
	GroupModels   = "models"
	GroupSessions = "sessions"
	GroupExtend   = "extend"
	GroupInspect  = "inspect"
)

// Finding is a line of `hermes-ls doctor`.
type Finding struct {
	State State
	What  string // the checked part, such as "hooks"
	Text  string
}

// State is the result of a check.
type State string

// If any finding is a Fail, the exit code of the doctor is 1.
const (
	OK   State = "ok"
	Note State = "note"
	Fail State = "fail"
)

// Command makes the command of a feature. Its GroupID is its group in the help.
type Command func(Home) *cobra.Command

// Doctor checks a feature. If there is nothing to say, it returns nil.
type Doctor func(context.Context, Home, *config.Loaded) []Finding

// Box returns the sandbox of commands in a folder, outside of a session. The caller must close it.
// Close undoes changes by [sandbox.Box.Stand] programs at automatically executed places, and names
// them in out.
func Box(c *config.Loaded, folder string, out io.Writer) *sandbox.Box {
	return sandbox.New(sandbox.Config{
		Mode: sandbox.Mode(c.Sandbox.Mode), Network: c.Sandbox.Network, Caches: c.Sandbox.Caches, Read: c.Sandbox.Read,
		Roots: func() []string { return []string{folder} }, HermesHome: c.Home,
		Ends: func(text string) { fmt.Fprintln(out, "Sandbox: "+escape.Line(text)+".") },
	})
}
