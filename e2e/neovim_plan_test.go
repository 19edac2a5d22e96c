//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In Neovim, :Hermes mode plan begins plan mode, the statusline names it, and the plan is shown
// with its three choices. Keep planning ends the turn, and approval starts the work.
func TestNeovimPlan(t *testing.T) {
	t.Parallel()
	b := newBed(t, shopFiles)
	p := newPlugin(t, "0.12", b)
	p.start(t, "shop.py")
	p.line(":Hermes mode plan")
	p.until("the mode in the statusline", func() bool { return strings.Contains(p.statusline(), "plan") })
	written := filepath.Join(b.workspace, "NOTES.md")
	write := `[{"call":{"name":"write_file","args":{"path":"NOTES.md","content":"x"}}}]`
	plan := `[{"call":{"name":"present_plan","args":{"plan":"1. Write NOTES.md."}}}]`
	p.send("Write notes", write, plan)
	p.wait("Hermes has a plan:", "1. Write NOTES.md.", "1: Start with approvals", "2: Start without asking", "3: Keep planning")
	p.keep(p.name("plan"))
	p.line("3")
	p.wait("● idle")
	if _, err := os.Stat(written); err == nil {
		t.Error("a file was written in plan mode")
	}
	p.send("Go on", plan, write, `[{"text":"They are written."}]`)
	p.wait("1: Start with approvals")
	p.line("1")
	p.ended("Go on", "They are written.")
	if _, err := os.Stat(written); err != nil {
		t.Errorf("the approved plan was not carried out: %v", err)
	}
}
