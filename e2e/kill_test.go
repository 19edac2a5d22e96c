//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var kills = flag.Int("kills", 15, "how often TestKilledServers kills the server")

// told is the part of a session received by an editor.
type told struct {
	prompts []string // of which anything was heard
	answers []string // received completely
	calls   []string // with a result
}

// A server is killed with -9 in the middle of a turn, again and again. Everything reported to the
// editor is there when the next server loads the session, and the session continues. The commands
// of a killed server end, and the next server removes its temporary folders.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": "one\n"})
	temp := t.TempDir()
	server := func() *line { return b.lineIn(t, exec.Command("env", "TMPDIR="+temp, b.binary, "acp")) }
	sessions := map[string]*told{}
	current, slowest := "", time.Duration(0)
	for n := range *kills {
		began := time.Now()
		l := server()
		if current != "" {
			loadAndCompare(t, l, b, current, sessions[current])
			slowest = max(slowest, time.Since(began))
		}
		if current == "" || n%5 == 0 {
			current = l.newSession(b.workspace)
			sessions[current] = &told{}
		}
		killInTurn(l, current, sessions[current], n)
		awaitNoCommand(t, n)
	}
	l := server()
	open := l.newSession(b.workspace)
	for id, s := range sessions {
		if len(s.prompts) > 0 { // others may not have come into the store
			loadAndCompare(t, l, b, id, s)
			open = id
		}
	}
	l.call("session/prompt", promptOf(open, script("the end", 0)), nil, nil)
	l.end()
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("left in the temporary folder: %q", left)
	}
	check := exec.Command(b.binary, "sessions", "check")
	check.Env = b.environ()
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%d kills; the slowest start with a session loaded took %v", *kills, slowest)
}

// commandOf returns an endless command, unique among the killed servers.
func commandOf(n int) string { return fmt.Sprintf("sleep 1000.%d%d", os.Getpid(), n) }

// awaitNoCommand waits until the command of a killed server has ended.
func awaitNoCommand(t *testing.T, n int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		out, err := exec.Command("pgrep", "-f", commandOf(n)).Output()
		if err != nil && len(out) == 0 {
			return
		}
		if time.Since(began) > 4*time.Second { // a supervisor's last try comes after 5
			t.Errorf("kill %d: the command is left: %s", n, out)
			return
		}
	}
}

// script is a prompt with which the embedded model writes and reads a file.
func script(answer string, pause int) string {
	return fmt.Sprintf("%s\n```hermes-script\n"+
		`[{"text":"I write. "},{"call":{"name":"write_file","args":{"path":"b.txt","content":"%s\n"}}},{"call":{"name":"read_file","args":{"path":"a.txt"}}}]`+"\n"+
		`[{"sleep_ms":%d},{"text":"%s."}]`+"\n```", answer, answer, pause, answer)
}

// killInTurn prompts, and kills the server at some moment of the turn. Every second turn runs an
// endless command.
func killInTurn(l *line, session string, s *told, n int) {
	answer := fmt.Sprint("answer ", n)
	request := script(answer, rand.IntN(10))
	if n%2 == 1 {
		request = fmt.Sprintf("%s\n```hermes-script\n"+`[{"call":{"name":"terminal","args":{"command":%q}}}]`+"\n```", answer, commandOf(n))
	}
	id := l.send("session/prompt", promptOf(session, request))
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

// loadAndCompare compares a replay with the earlier messages.
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

// A session whose server was killed at any instant continues in the next server, started at once.
// Every call of the killed turn has a result, also if it only explains why the call did not run.
// Every call of the next turn runs.
func TestCallsAfterAKill(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": "one\n"})
	l, session := b.line(t), ""
	for n := range *kills {
		if n%10 == 0 {
			session = l.newSession(b.workspace)
		}
		callAll(t, l, b, session, n)
		killInCalls(l, session, n)
		l = b.line(t)
		calls := map[string]string{}
		l.call("session/load", map[string]any{"sessionId": session, "cwd": b.workspace, "mcpServers": []any{}}, nil, func(f frame) {
			if u := f.Params.Update; u.SessionUpdate == "tool_call" || u.SessionUpdate == "tool_call_update" {
				calls[u.ToolCallID] = u.Status
			}
		})
		for id, status := range calls {
			if status != "completed" && status != "failed" {
				t.Errorf("kill %d: the call %q has the status %q after the session was loaded", n, id, status)
			}
		}
	}
	callAll(t, l, b, session, *kills)
	l.end()
}

// callAll runs a turn of several calls, and compares their effects.
func callAll(t *testing.T, l *line, b bed, session string, n int) {
	t.Helper()
	request := fmt.Sprintf("turn %d\n```hermes-script\n"+
		`[{"call":{"name":"write_file","args":{"path":"b.txt","content":"b%[1]d\n"}}},{"call":{"name":"terminal","args":{"command":"echo %[1]d >> c.txt"}}}]`+"\n"+
		`[{"call":{"name":"read_file","args":{"path":"c.txt"}}}]`+"\n"+
		`[{"text":"whole."}]`+"\n```", n)
	var end struct{ StopReason string }
	heard, calls := "", map[string]string{}
	l.call("session/prompt", promptOf(session, request), &end, func(f frame) {
		switch u := f.Params.Update; u.SessionUpdate {
		case "agent_message_chunk":
			heard += f.text()
		case "tool_call", "tool_call_update":
			calls[u.ToolCallID] = u.Status
		}
	})
	if end.StopReason != "end_turn" || !strings.Contains(heard, "whole.") || len(calls) != 3 {
		t.Errorf("after kill %d the turn ended with %q, %q and the calls %v", n, end.StopReason, heard, calls)
	}
	for id, status := range calls {
		if status != "completed" {
			t.Errorf("after kill %d the call %q is %s", n, id, status)
		}
	}
	if text, err := os.ReadFile(filepath.Join(b.workspace, "b.txt")); string(text) != fmt.Sprintf("b%d\n", n) {
		t.Errorf("after kill %d b.txt has %q: %v", n, text, err)
	}
	if text, err := os.ReadFile(filepath.Join(b.workspace, "c.txt")); !strings.HasSuffix("\n"+string(text), fmt.Sprintf("\n%d\n", n)) {
		t.Errorf("after kill %d c.txt ends with %q: %v", n, text[max(0, len(text)-20):], err)
	}
}

// killInCalls kills the server while it runs many short calls.
func killInCalls(l *line, session string, n int) {
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, `[{"text":"x "},{"call":{"name":"patch","args":{"path":"b.txt","old_string":"b","new_string":"bb"}}},`+
			`{"call":{"name":"write_file","args":{"path":"d.txt","content":"%d\n"}}},{"call":{"name":"terminal","args":{"command":"cat d.txt"}}},`+
			`{"call":{"name":"read_file","args":{"path":"a.txt"}}},{"call":{"name":"read_file","args":{"path":"d.txt"}}}]`+"\n", i)
	}
	l.send("session/prompt", promptOf(session, fmt.Sprintf("killed %d\n```hermes-script\n%s```", n, lines.String())))
	time.AfterFunc(time.Duration(rand.IntN(250_000))*time.Microsecond, func() { _ = l.cmd.Process.Kill() })
	for {
		if _, ok := l.next(); !ok {
			break
		}
	}
	_ = l.cmd.Wait() // it was killed
}
