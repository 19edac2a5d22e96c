package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/tools"
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

// TestRunOfRefusedCommands checks that a slash command that is not done exits with 1.
func TestRunOfRefusedCommands(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write("home/config.yaml", "model: {provider: embedded}\n")
	for prompt, want := range map[string]int{"/undo": 1, "/rollback 9": 1, "/status": 0} {
		if out, errOut, code := p.run("run", prompt); code != want || want == 1 && !strings.HasPrefix(out, "Not done: ") || errOut != "" {
			t.Errorf("%s: %d, %q, %q", prompt, code, out, errOut)
		}
	}
}

// TestRunContinues checks that --continue and --session add a prompt to a stored session.
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

// TestRunShowsResultsOfCalls checks that progress has a line for each call with its result.
func TestRunShowsResultsOfCalls(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write("home/config.yaml", "model: {provider: embedded}\nsandbox: {mode: off}\n")
	p.write("ws/a.go", "package a\n\nvar x = 1\n")
	prompt := scripted("Go.",
		`[{"call":{"name":"terminal","args":{"command":"echo one; exit 3"}}}]`,
		`[{"call":{"name":"write_file","args":{"path":"sub/b.go","content":"package b\n\nvar y = 2\n"}}}]`,
		`[{"call":{"name":"patch","args":{"path":"a.go","old_string":"var x = 1\n","new_string":"var (\n\tx = 1\n)\n"}}}]`,
		`[{"call":{"name":"read_file","args":{"path":"a.go"}}}]`,
		`[{"call":{"name":"read_file","args":{"path":"gone.go"}}}]`,
		`[{"text":"Done."}]`)
	out, errOut, code := p.run("run", "--approve", "always", prompt)
	if code != 0 || out != "Done.\n" {
		t.Fatalf("%d, %q, %q", code, out, errOut)
	}
	rest := errOut
	for _, want := range []string{"· $ echo one; exit 3 · exit 3", "· created sub/b.go +3 −0\n", "· edited a.go +3 −1\n", "a.go · 5 lines\n", "gone.go · failed: "} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("progress lacks %q, or it is in the wrong order:\n%s", want, errOut)
		}
		rest = after
	}
	early := strings.Count(errOut, "· running\n") // on a busy machine
	if got := strings.Count(errOut, "echo one"); got != 1+early || early > 1 {
		t.Errorf("the command is on %d lines:\n%s", got, errOut)
	}
	if told := strings.Count(errOut, "Sandbox: "); told != 1 {
		t.Errorf("the sandbox is told %d times:\n%s", told, errOut)
	}
	if _, errOut, _ := p.run("run", "--approve", "always", prompt); strings.Contains(errOut, "Sandbox: ") {
		t.Errorf("the sandbox is told again:\n%s", errOut)
	}
}

// Without a user, a run stops before the request that could pass a limit, with exit code 1.
func TestRunStopsAtLimit(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write("home/config.yaml", "model: {provider: embedded}\nlimits: {session_tokens: 500}\n")
	out, errOut, code := p.run("run", scripted("Go.", `[{"text":"Hello."}]`))
	if code != 1 || out != "" || strings.Count(errOut, "Stopped before the next request, which could pass limits.session_tokens: 0 of 500 tokens is spent") != 1 ||
		!strings.Contains(errOut, "max_turn_requests") {
		t.Errorf("%d, %q, %q", code, out, errOut)
	}
}

// A result is a line whatever it holds: canceled, timed out, and with parts that are no text.
func TestLineOfCall(t *testing.T) {
	t.Parallel()
	old, edit := "a\nb\n", func(path string) tools.Content {
		return tools.Content{Diff: &tools.Diff{Path: path, New: "x\n"}}
	}
	for _, c := range []struct {
		want string
		e    agent.CallEnded
	}{
		{"T · exit 1 · 2.1 s", agent.CallEnded{Result: tools.Result{JSON: json.RawMessage(`{"exit_code":1}`)}, Duration: 2100 * time.Millisecond}},
		{"T · exit 0 · 12 s", agent.CallEnded{Result: tools.Result{JSON: json.RawMessage(`{"exit_code":0}`)}, Duration: 12 * time.Second}},
		{"T · timed out · 3 min 5 s", agent.CallEnded{Result: tools.Result{JSON: json.RawMessage(`{"exit_code":-1,"timed_out":true}`)}, Duration: 185 * time.Second}},
		{"T · canceled", agent.CallEnded{Interrupted: true, Result: tools.Result{IsError: true, JSON: json.RawMessage(`{"error":"x"}`)}}},
		{"T · failed: a b", agent.CallEnded{Result: tools.Result{IsError: true, JSON: json.RawMessage("{\"error\":\"a\\nb\"}")}}},
		{"T · failed", agent.CallEnded{Result: tools.Result{IsError: true, JSON: json.RawMessage(`[1]`)}}},
		{"T · 1,234 found", agent.CallEnded{Result: tools.Result{JSON: json.RawMessage(`{"total_count":1234}`)}}},
		{"T · running", agent.CallEnded{Result: tools.Result{JSON: json.RawMessage(`{"status":"running"}`)}}},
		{"T · done", agent.CallEnded{Result: tools.Result{JSON: json.RawMessage(`{"status":5}`)}}},
		{"edited a +1 −2", agent.CallEnded{Result: tools.Result{Shown: []tools.Content{{Diff: &tools.Diff{Path: "/w/a", Old: &old, New: "x\n"}}}}}},
		{"created a +1 −0, b +1 −0, /x/c +1 −0, 1 more", agent.CallEnded{Result: tools.Result{Shown: []tools.Content{edit("/w/a"), edit("/w/b"), edit("/x/c"), edit("/w/d")}}}},
		{"T · exit 0 · edited a +1 −2", agent.CallEnded{Result: tools.Result{JSON: json.RawMessage(`{"exit_code":0}`), Shown: []tools.Content{{Diff: &tools.Diff{Path: "/w/a", Old: &old, New: "x\n"}}}}}},
	} {
		if got := lineOfCall("T", "/w", c.e); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A call that runs for some seconds is shown before its result, but not beside a question.
func TestLongCallsAreShownEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var progress bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&progress)
		h := newTerminalHost(cmd, runFlags{})
		start := func(id string) { h.Event(agent.CallStarted{Call: tools.Call{ID: id}, Title: "call " + id}) }
		end := func(id string) {
			h.Event(agent.CallEnded{Call: tools.Call{ID: id}, Result: tools.Result{JSON: json.RawMessage(`{}`)}, Duration: time.Second})
		}
		start("1")
		start("2")
		time.Sleep(time.Second)
		end("1")
		time.Sleep(time.Minute)
		end("2")
		start("3")
		h.setAsking(true)
		time.Sleep(time.Minute)
		h.setAsking(false)
		end("3")
		start("4")
		h.ended("s", agent.Cancelled)
		time.Sleep(time.Minute)
		want := "· call 1 · done · 1.0 s\n· call 2 · running\n· call 2 · done · 1.0 s\n· call 3 · done · 1.0 s\n"
		if got := progress.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
