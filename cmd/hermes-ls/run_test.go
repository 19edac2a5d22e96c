package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// scripted returns a prompt to which the embedded model gives these responses.
func scripted(text string, responses ...string) string {
	return text + "\n```hermes-script\n" + strings.Join(responses, "\n") + "\n```"
}

// TestRunTellsProblemsOnce checks that a problem of the configuration is on stderr once.
func TestRunTellsProblemsOnce(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write("home/config.yaml", "model: {provider: embedded}\nterminal: {bakend: x}\n")
	out, errOut, code := p.run("run", scripted("Go.", `[{"text":"Hello."}]`))
	if code != 0 || out != "Hello.\n" || strings.Count(errOut, "terminal.bakend") != 1 {
		t.Errorf("%d, %q, %q", code, out, errOut)
	}
}

// With --continue or --session, a run goes on with a stored session.
func TestRunContinues(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	run := func(args ...string) (id, errOut string, code int) {
		out, errOut, code := p.run(append([]string{"run", "--json"}, args...)...)
		for line := range strings.Lines(out) {
			var event struct{ Type, SessionID string }
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if event.Type == "end" {
				id = event.SessionID
			}
		}
		return id, errOut, code
	}
	hello := scripted("Go.", `[{"text":"Hello."}]`)
	if _, errOut, code := run("--continue", hello); code != 1 || !strings.Contains(errOut, "there is no session of") {
		t.Errorf("without a session: %d, %q", code, errOut)
	}
	first, _, _ := run(hello)
	second, _, _ := run(scripted("Go.", `[{"call":{"name":"delegate_task","args":{"goal":"Look."}}}]`, `[{"text":"Hello."}]`))
	if first == "" || second == "" || first == second {
		t.Fatalf("%q, %q", first, second)
	}
	if id, errOut, code := run("--continue", hello); id != second || code != 0 {
		t.Errorf("--continue took %q, not %q: %d, %q", id, second, code, errOut)
	}
	if id, errOut, code := run("--session", first, hello); id != first || code != 0 {
		t.Errorf("--session took %q, not %q: %d, %q", id, first, code, errOut)
	}
	if id, errOut, code := run("--continue", "--mode", "plan", hello); id != first || code != 0 {
		t.Errorf("--continue took %q, not %q: %d, %q", id, first, code, errOut)
	}
	if _, errOut, code := run("--session", "none", hello); code != 2 || !strings.Contains(errOut, "there is no session") {
		t.Errorf("an unknown session: %d, %q", code, errOut)
	}
	if _, errOut, code := run("--session", first, "--continue", hello); code != 2 || !strings.Contains(errOut, "--continue") {
		t.Errorf("both: %d, %q", code, errOut)
	}
	p.cwd = p.home
	if _, errOut, code := run("--session", first, hello); code == 0 || !strings.Contains(errOut, "belongs to") {
		t.Errorf("another folder: %d, %q", code, errOut)
	}
}
