//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// background is a prompt whose subagent ends after a while. The turn with its result answers last.
// then is the second response of the delegating turn.
func background(pause int, then, last string) (prompt string, replies []string) {
	goal := fmt.Sprintf(`Count the stars\n`+"```hermes-script"+`\n[{\"sleep_ms\":%d},{\"text\":\"Seven stars.\"}]\n`+"```", pause)
	return "Start it", []string{
		fmt.Sprintf(`[{"call":{"name":"delegate_task","args":{"goal":"%s","background":true,"toolsets":["file"]}}}]`, goal),
		"[" + then + "]",
		fmt.Sprintf(`[{"text":"%s"}]`, last),
	}
}

// In a real Neovim with the plugin, the result of a background subagent starts a turn, and a
// goal is judged after the turn.
func TestNeovimLongWork(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPlugin(t, version, newBed(t, shopFiles))
			p.start(t, "shop.py")
			prompt, replies := background(1500, `{"text":"It is counting."}`, "They are seven.")
			p.send(prompt, replies...)
			p.wait("It is counting.", "Hermes continues with their", "They are seven.", "● idle")
			p.wait("Hermes: Subagents have ended: “Count the stars” (completed)")
			p.keep(p.name("background"))
			p.send("/goal all is well", `[{"text":"{\"verdict\":\"reached\",\"reason\":\"all is well\"}"}]`)
			p.wait("The goal is set.", "The goal is reached: all is well.", "● idle")
			p.keep(p.name("goal"))
			p.line(":Hermes goal")
			p.wait("There is no goal.")
		})
	}
}

// A server is killed with -9 after a background subagent has ended, and before the model gets its
// result. When the session is loaded, the next server starts a turn with the result, once. The goal
// of the session is still there.
func TestKilledServerKeepsResults(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": "one\n"})
	l := b.line(t)
	session := l.newSession(b.workspace)
	l.call("session/prompt", promptOf(session, "/goal x\n```hermes-script\n[{\"text\":\"Not yet.\"}]\n```"), nil, nil)
	prompt, replies := background(200, `{"call":{"name":"terminal","args":{"command":"sleep 600"}}}`, "They are seven.")
	l.send("session/prompt", promptOf(session, prompt+"\n```hermes-script\n"+strings.Join(replies, "\n")+"\n```"))
	for ended := false; !ended; {
		f, ok := l.next()
		if !ok {
			t.Fatal("the server has gone")
		}
		u := f.Params.Update
		ended = u.SessionUpdate == "tool_call_update" && u.Status == "completed" && strings.HasPrefix(u.ToolCallID, "subagent-")
	}
	db := store.New(filepath.Join(b.home, store.FileName), store.Options{})
	defer db.Close()
	waitFor(t, "its result in the store", func() bool { // it is stored beside the event
		all, _, err := db.List(t.Context(), store.Filter{})
		return err == nil && slices.ContainsFunc(all, func(x store.Session) bool { return strings.Contains(x.Origin, `"status":"completed"`) })
	})
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = l.cmd.Wait()

	for n, want := range []string{"Subagents have ended: “Count the stars” (completed). Hermes continues with their results.", "Subagents have ended"} {
		l = b.line(t)
		l.call("session/load", map[string]any{"sessionId": session, "cwd": b.workspace, "mcpServers": []any{}}, nil, nil)
		var heard strings.Builder
		if n == 0 {
			for !strings.Contains(heard.String(), "They are seven.") {
				f, ok := l.next()
				if !ok {
					t.Fatalf("the server has gone after %q", heard.String())
				}
				heard.WriteString(f.text())
			}
		}
		l.call("session/prompt", promptOf(session, "/goal"), nil, func(f frame) { heard.WriteString(f.text()) })
		if strings.Contains(heard.String(), want) != (n == 0) || !strings.Contains(heard.String(), "The goal:") {
			t.Errorf("server %d said %q", n+2, heard.String())
		}
		l.end()
	}
}
