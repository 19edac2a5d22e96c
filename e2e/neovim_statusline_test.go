//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// evil is a text that makes a file if Neovim evaluates it as a part of a statusline.
const evil = "%{system('touch ../PWN')}"

// Neovim evaluates a statusline: a command's text in it stays a text.
func TestNeovimStatuslineCommand(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			p.send("Wait", `[{"call":{"name":"terminal","args":{"command":"sleep 600 #`+evil+`"}}}]`)
			p.until("the command in the statusline", func() bool { return strings.Contains(p.statusline(), "working: $ sleep 600 #"+evil) })
			p.eval("execute('redrawstatus!')")
			p.line(":Hermes cancel")
			p.wait("● idle")
			p.notRun()
		})
	}
}

// A repository names the model, and the statusline shows its name.
func TestNeovimStatuslineRepository(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			write(t, filepath.Join(b.workspace, ".hermes", "config.yaml"), `model: {default: "`+evil+`"}`+"\n")
			endpoint := `provider: custom, base_url: "http://127.0.0.1:9/v1", api_key: x`
			write(t, filepath.Join(b.home, "config.yaml"), "model: {"+endpoint+"}\n")
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			p.line(":set cmdheight=5") // room for the warning about the repository's setting
			p.line(":Hermes")
			p.until("the default model in the statusline", func() bool { return strings.HasSuffix(p.statusline(), "idle · custom/gpt-5") })

			// The user's own settings may have any name; the statusline shows it.
			write(t, filepath.Join(b.home, "config.yaml"), "model: {"+endpoint+`, default: "`+evil+`"}`+"\n")
			p.line(":Hermes new")
			p.until("the user's model in the statusline", func() bool { return strings.HasSuffix(p.statusline(), "idle · custom/"+evil) })
			p.eval("execute('redrawstatus!')")
			p.notRun()
		})
	}
}

// statusline returns the statusline.
func (p *plugin) statusline() string {
	p.t.Helper()
	return p.eval("nvim_eval_statusline(&statusline, {'maxwidth': 300}).str")
}

func (p *plugin) notRun() {
	p.t.Helper()
	if _, err := os.Lstat(filepath.Join(p.bed.workspace, "..", "PWN")); err == nil {
		p.t.Fatal("Neovim has run a text of the statusline")
	}
}
