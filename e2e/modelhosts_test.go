//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// readsNeovim is a Neovim with the plugin.
type readsNeovim struct{ *plugin }

func newReadsNeovim(t *testing.T, b bed) readsHost {
	t.Helper()
	p := newPlugin(t, "0.12", b)
	p.start(t, "pricing.py")
	return readsNeovim{p}
}

func (n readsNeovim) send(prompt string) {
	draft := filepath.Join(filepath.Dir(n.bed.home), "draft.txt")
	write(n.t, draft, prompt+"\n")
	n.line(":Hermes")
	n.line(":silent $read " + draft)
	n.keys("Enter")
}

// wait waits until the chat, which is on the right, shows the texts. Its lines are wrapped.
func (n readsNeovim) wait(shown ...string) {
	n.t.Helper()
	for _, want := range append(shown, "● idle") {
		n.until(fmt.Sprintf("the chat to show %q", want), func() bool {
			var chat []string
			for line := range strings.Lines(n.text()) {
				_, right, _ := strings.Cut(line, "│")
				chat = append(chat, strings.Fields(right)...)
			}
			return strings.Contains(strings.Join(chat, " "), want)
		})
	}
}

func (n readsNeovim) stop() {
	n.line(":Hermes cancel")
	n.plugin.wait("● idle")
}

func (n readsNeovim) choose(label string) {
	labels := []string{"1: Start with approvals", "2: Start without asking", "3: Keep planning"}
	n.plugin.wait(labels...)
	for _, l := range labels {
		if number, text, _ := strings.Cut(l, ": "); text == label {
			n.line(number)
		}
	}
}

// readsVSCode is a VS Code with the extension, which a script drives.
type readsVSCode struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

func newReadsVSCode(t *testing.T, b bed) readsHost { return newVSCode(t, b, "pricing.py") }

// newVSCode opens a file in a VS Code with further extensions.
func newVSCode(t *testing.T, b bed, file string, extensions ...string) readsHost {
	t.Helper()
	in, out := startVSCode(t, vscode(t, []string{
		"HERMES_VSIX=" + strings.Join(append(extensions, extension(t)), string(filepath.ListSeparator)),
		"HERMES_FILE=" + file, "HERMES_HOME=" + b.home, "HERMES_WS=" + b.workspace,
	}, "drive.mjs"))
	v := &readsVSCode{t: t, in: in, out: bufio.NewReader(out)}
	v.done()
	return v
}

// do makes the script do something, and waits until it is done.
func (v *readsVSCode) do(name string, args ...string) {
	v.t.Helper()
	data, _ := json.Marshal(map[string]any{"do": name, "args": args})
	if _, err := v.in.Write(append(data, '\n')); err != nil {
		v.t.Fatal(err)
	}
	v.done()
}

func (v *readsVSCode) done() {
	v.t.Helper()
	line, err := v.out.ReadString('\n')
	if err != nil || line != "done\n" {
		v.t.Fatalf("VS Code: %v: %s", err, line)
	}
}

func (v *readsVSCode) send(prompt string) { v.do("send", prompt) }

func (v *readsVSCode) wait(shown ...string) { v.do("wait", shown...) }

func (v *readsVSCode) stop() { v.do("stop") }

func (v *readsVSCode) choose(label string) { v.do("click", label) }
