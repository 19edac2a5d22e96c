package server

import (
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
)

// newSandbox makes what bounds the session's commands. What is enforced, by what, and
// what this host cannot enforce is said once, by the first command.
func (x *Session) newSandbox(conf *config.Loaded) *sandbox.Box {
	home := x.svc.Home
	return sandbox.New(sandbox.Config{
		Mode: sandbox.Mode(conf.Sandbox.Mode), Network: conf.Sandbox.Network,
		Caches: conf.Sandbox.Caches, Read: conf.Sandbox.Read,
		Roots: x.ws.Folders, HermesHome: home,
		Visible: []string{x.svc.outputDir(x.id), filepath.Join(home, "skills")},
		Environ: x.svc.Environ, Alone: x.svc.Static,
		Notice: func(text string) { x.host.Sink(x.id).Event(agent.Notice{Text: "Sandbox: " + text + "."}) },
		Tell: func(enforced string, gaps []string) {
			x.svc.Log.Info("sandbox", "session", x.id, "enforced", enforced, "gaps", gaps)
			text := "Sandbox: " + enforced + "."
			if len(gaps) > 0 {
				text += " Not enforced: " + strings.Join(gaps, ". ") + "."
			}
			x.host.Sink(x.id).Event(agent.Notice{Text: text})
		},
	})
}

// applySandbox has the configuration as it is now count for the next command.
func (x *Session) applySandbox() {
	x.mu.Lock()
	want := x.conf.Sandbox
	x.mu.Unlock()
	x.sandbox.Set(sandbox.Mode(want.Mode), want.Network)
	x.sandbox.SetHome(want.Caches, want.Read)
}
