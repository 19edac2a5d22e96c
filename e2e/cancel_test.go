//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// twoCommands is a prompt with a background subagent and an endless command. The subagent waits for
// the file go. The turn continues with the command.
func twoCommands() (prompt string, replies []string) {
	goal := "Wait for go\\n" + "```hermes-script" +
		`\n[{\"call\":{\"name\":\"terminal\",\"args\":{\"command\":\"echo > begun; until test -e go; do sleep 0.05; done; echo > went-on\"}}}]\n[{\"text\":\"It went.\"}]\n` + "```"
	return "Begin it", []string{
		`[{"call":{"name":"delegate_task","args":{"goal":"` + goal + `","background":true,"toolsets":["terminal"]}}}]`,
		`[{"call":{"name":"terminal","args":{"command":"echo > turn; sleep 600"}}}]`,
		`[{"text":"Never said."}]`,
	}
}

func (b bed) has(name string) bool {
	_, err := os.Stat(filepath.Join(b.workspace, name))
	return err == nil
}

// begun waits until both commands of twoCommands run.
func (b bed) begun(t *testing.T) {
	t.Helper()
	waitFor(t, "both commands", func() bool { return b.has("begun") && b.has("turn") })
}

// TestRunInterrupted: Ctrl-C ends `hermes-ls run`, and the command of its subagent in the background, with exit code 130.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": "one\n"})
	prompt, replies := twoCommands()
	cmd := exec.Command(b.binary, "run", prompt+"\n```hermes-script\n"+strings.Join(replies, "\n")+"\n```")
	cmd.Dir, cmd.Env = b.workspace, b.environ()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.begun(t)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("it ended with %v", err)
	}
	write(t, filepath.Join(b.workspace, "go"), "")
	b.waitForServers(t) // none of its processes is left to continue
	if text := out.String(); b.has("went-on") || strings.Contains(text, "It went.") || strings.Contains(text, "Never said.") {
		t.Errorf("it went on: %s", text)
	}
}

// TestNeovimCancelsBackground: a cancel in Neovim ends the background subagent, and no turn begins.
func TestNeovimCancelsBackground(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			prompt, replies := twoCommands()
			p.send(prompt, replies...)
			b.begun(t)
			p.line(":Hermes cancel")
			p.wait("● idle", "✗ Subagent: Wait for go", "> Cancelled.")
			write(t, filepath.Join(b.workspace, "go"), "")
			p.send("And now?", `[{"text":"Nothing goes on."}]`)
			p.ended("And now?", "Nothing goes on.")
			if text := p.text(); b.has("went-on") || strings.Contains(text, "Hermes continues with") {
				t.Errorf("it went on:\n%s", text)
			}
		})
	}
}

// TestCancelBackgroundOverACP: session/cancel of a client with lines of JSON does the same.
func TestCancelBackgroundOverACP(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": "one\n"})
	l := b.line(t)
	session := l.newSession(b.workspace)
	prompt, replies := twoCommands()
	l.send("session/prompt", promptOf(session, prompt+"\n```hermes-script\n"+strings.Join(replies, "\n")+"\n```"))
	b.begun(t)
	l.notify("session/cancel", map[string]any{"sessionId": session})
	ended := false
	for !ended {
		f, ok := l.next()
		if !ok {
			t.Fatal("the server has gone")
		}
		u := f.Params.Update
		ended = u.SessionUpdate == "tool_call_update" && u.Status == "failed" && strings.HasPrefix(u.ToolCallID, "subagent-")
	}
	write(t, filepath.Join(b.workspace, "go"), "")
	var heard strings.Builder
	l.call("session/prompt", promptOf(session, "And now?\n```hermes-script\n[{\"text\":\"Nothing goes on.\"}]\n```"), nil, func(f frame) { heard.WriteString(f.text()) })
	l.end()
	if text := heard.String(); b.has("went-on") || !strings.Contains(text, "Nothing goes on.") || strings.Contains(text, "Hermes continues with") || strings.Contains(text, "Never said") {
		t.Errorf("it went on: %s", text)
	}
}
