//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var kills = flag.Int("kills", 15, "how often TestKilledServers kills the server")

// told is what an editor was told of a session.
type told struct {
	prompts []string // of which anything was heard
	answers []string // that came whole
	calls   []string // that had a result
}

// A server that is killed with -9 in the middle of a turn, again and again: whatever
// the editor was told is there when the next server loads the session, and the session
// goes on.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": "one\n"})
	sessions := map[string]*told{}
	current, slowest := "", time.Duration(0)
	for n := range *kills {
		began := time.Now()
		l := b.line(t)
		if current != "" {
			loadAndCompare(t, l, b, current, sessions[current])
			slowest = max(slowest, time.Since(began))
		}
		if current == "" || n%5 == 0 {
			current = l.newSession(b.workspace)
			sessions[current] = &told{}
		}
		killInTurn(l, current, sessions[current], n)
	}
	l := b.line(t)
	open := l.newSession(b.workspace)
	for id, s := range sessions {
		if len(s.prompts) > 0 { // others may not have come into the store
			loadAndCompare(t, l, b, id, s)
			open = id
		}
	}
	l.call("session/prompt", promptOf(open, script("the end", 0)), nil, nil)
	l.end()
	check := exec.Command(b.binary, "sessions", "check")
	check.Env = b.environ()
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%d kills; the slowest start with a session loaded took %v", *kills, slowest)
}

// script is a prompt that has the embedded model write and read a file.
func script(answer string, pause int) string {
	return fmt.Sprintf("%s\n```hermes-script\n"+
		`[{"text":"I write. "},{"call":{"name":"write_file","args":{"path":"b.txt","content":"%s\n"}}},{"call":{"name":"read_file","args":{"path":"a.txt"}}}]`+"\n"+
		`[{"sleep_ms":%d},{"text":"%s."}]`+"\n```", answer, answer, pause, answer)
}

// killInTurn prompts, and kills the server at some moment of the turn.
func killInTurn(l *line, session string, s *told, n int) {
	answer := fmt.Sprint("answer ", n)
	id := l.send("session/prompt", promptOf(session, script(answer, rand.IntN(10))))
	time.AfterFunc(time.Duration(rand.IntN(120_000))*time.Microsecond, func() { _ = l.cmd.Process.Kill() })
	heard, text := false, ""
	for {
		f, ok := l.next()
		if !ok {
			break
		}
		if f.Method == "" && string(f.ID) == id && f.Error == nil {
			s.answers = append(s.answers, text)
		}
		switch u := f.Params.Update; u.SessionUpdate {
		case "agent_message_chunk":
			heard, text = true, text+f.text()
		case "tool_call_update":
			if u.Status == "completed" || u.Status == "failed" {
				s.calls = append(s.calls, u.ToolCallID)
			}
		case "tool_call", "usage_update":
			heard = true
		}
	}
	_ = l.cmd.Wait() // it was killed
	if heard {
		s.prompts = append(s.prompts, answer)
	}
}

// loadAndCompare holds a replay against what was told before.
func loadAndCompare(t *testing.T, l *line, b bed, session string, s *told) {
	t.Helper()
	if len(s.prompts) == 0 {
		return // it may not have come into the store
	}
	users, agent, results := "", "", map[string]bool{}
	l.call("session/load", map[string]any{"sessionId": session, "cwd": b.workspace, "mcpServers": []any{}}, nil, func(f frame) {
		switch u := f.Params.Update; u.SessionUpdate {
		case "user_message_chunk":
			users += f.text() + "\n"
		case "agent_message_chunk":
			agent += f.text()
		case "tool_call_update":
			results[u.ToolCallID] = u.Status == "completed" || u.Status == "failed"
		}
	})
	for _, p := range s.prompts {
		if !strings.Contains(users, p+"\n```hermes-script") {
			t.Errorf("the prompt %q is not there", p)
		}
	}
	for _, a := range s.answers {
		if !strings.Contains(agent, a) {
			t.Errorf("the answer %q is not there", a)
		}
	}
	for _, c := range s.calls {
		if !results[c] {
			t.Errorf("the result of %q is not there", c)
		}
	}
}
