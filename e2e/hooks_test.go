//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// guardHook decides by words in the command.
const guardHook = `#!/usr/bin/env python3
import json, os, sys
call = json.load(sys.stdin)
command = call["tool_input"].get("command", "")
if "blockme" in command:
    print(json.dumps({"action": "block", "message": "not this"}))
elif "askme" in command:
    print(json.dumps({"action": "approve", "message": "are you sure?"}))
elif "changeme" in command:
    print(json.dumps({"action": "modify", "args": {"command": "echo was changed"}}))
elif "allowme" in command:
    print(json.dumps({"hookSpecificOutput": {"permissionDecision": "allow"}, "decision": "approve"}))
elif "crashme" in command:
    sys.exit(7)
elif "confineme" in command:
    for path in (WORKSPACE + "/made", OUTSIDE):
        try:
            open(path, "w").write("x")
            print("wrote", path, file=sys.stderr)
        except OSError:
            print("cannot write", path, file=sys.stderr)
    sys.exit(2)
`

// logHook writes its input to a file.
const logHook = `#!/usr/bin/env python3
import json, os, sys
call = json.load(sys.stdin)
call["event"] = os.environ["HERMES_HOOK_EVENT"]
open(LOG, "a").write(json.dumps(call) + "\n")
`

// TestHooks runs hooks of each event in the built program: for calls of the model, of a script and of
// a subagent, and by hermes-ls hooks.
func TestHooks(t *testing.T) {
	t.Parallel()
	b := newExtensionBed(t, nil)
	outside, log := filepath.Join(filepath.Dir(b.home), "outside"), filepath.Join(filepath.Dir(b.home), "log")
	quoted := strings.NewReplacer("WORKSPACE", fmt.Sprintf("%q", b.workspace), "OUTSIDE", fmt.Sprintf("%q", outside), "LOG", fmt.Sprintf("%q", log))
	b.add(map[string]string{
		"hooks/guard": quoted.Replace(guardHook), "hooks/log": quoted.Replace(logHook),
		"config.yaml": strings.ReplaceAll(`model: {provider: embedded}
hooks:
  before-tool-call:
    - {matcher: terminal, command: DIR/guard}
    - {matcher: read_file, command: DIR/missing, fail_closed: false}
  PreToolUse: [{matcher: "Bash|Read", command: DIR/log}]
  after-tool-call: [{matcher: read_file, command: "sh -c 'echo \"{\\\"result\\\": {\\\"replaced\\\": 1}}\"'"}]
  post_tool_call: [{matcher: read_file, command: "sh -c 'echo \"{\\\"note\\\": \\\"noted\\\"}\"'"}]
  prompt-submit: [{command: echo more context}, {command: DIR/log}]
  Stop: [{command: DIR/log}]
  before-response: [{command: "sh -c 'echo \"{\\\"text\\\": \\\"Replaced.\\\"}\"'"}]
  on_session_start: [{command: DIR/log}]
  SubagentStop: [{command: DIR/log}]
  on_session_end: [{command: DIR/log}]
`, "DIR", filepath.Join(b.home, "hooks")),
	})
	command := func(c string) map[string]any { return call("terminal", map[string]any{"command": c}) }
	child := "run it\n```hermes-script\n" + `[{"call":{"name":"terminal","args":{"command":"echo blockme in the child"}}}]` + "\n" + `[{"text":"Child."}]` + "\n```"
	b.open()
	h := b.prompt(true, command("echo blockme"), command("echo askme"), command("echo changeme"), command("rm -rf allowme"), command("echo crashme"),
		call("read_file", map[string]any{"path": "a.txt"}),
		call("execute_code", map[string]any{"code": "from hermes_tools import terminal\nprint(terminal('echo blockme in the script'))"}),
		call("delegate_task", map[string]any{"goal": child}))
	guard := filepath.Join(b.home, "hooks", "guard")
	contains(t, "the turn", h.text, "hooks/missing", "cannot start",
		"blocked this call: not this. Do not try it in another form.", `"output":"was changed\n"`,
		"failed (it ended with exit code 7). Tell the user", `"replaced":1`, `"note":"noted"`, "Replaced.")
	if len(h.asked) != 2 || h.asked[1] != "rm -rf allowme" {
		t.Errorf("asked %q", h.asked)
	}
	contains(t, "/hooks", b.say("/hooks", true).text, "pre_tool_call", "hooks/guard")
	b.line.end()

	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var c struct {
			Event, Hook_event_name, Tool_name, Transcript_path, Cwd string
			Tool_input                                              map[string]any
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil || c.Cwd != b.workspace {
			t.Errorf("%v: %s", err, line)
		}
		text, _ := c.Tool_input["command"].(string)
		seen[strings.TrimSpace(c.Event+" "+c.Hook_event_name+" "+c.Tool_name+" "+text)]++
		if wants := c.Event == "transform_llm_output" || c.Event == "on_session_end"; wants != (c.Transcript_path != "") {
			t.Errorf("the transcript of %s is %q", c.Event, c.Transcript_path)
		}
	}
	for _, want := range []string{
		"on_session_start on_session_start", "pre_llm_call pre_llm_call", "pre_tool_call PreToolUse Bash echo blockme", "pre_tool_call PreToolUse Read",
		"pre_tool_call PreToolUse Bash echo blockme in the script", "pre_tool_call PreToolUse Bash echo blockme in the child",
		"subagent_stop SubagentStop", "transform_llm_output Stop", "on_session_end on_session_end",
	} {
		if seen[want] != 1 {
			t.Errorf("%q was seen %d times; there are %v", want, seen[want], seen)
		}
	}

	payload := filepath.Join(b.workspace, "payload.json")
	try := func(text string) (string, error) {
		write(t, payload, `{"tool_name":"terminal","tool_input":{"command":"`+text+`"}}`)
		return b.hermes("hooks", "test", "pre_tool_call", "--tool", "terminal", "--payload", payload)
	}
	for text, decision := range map[string]string{"blockme": "block", "askme": "ask", "changeme": "modify", "x": "none", "crashme": "failed"} {
		if out, err := try(text); !strings.HasPrefix(out, decision+"  ") || (err == nil) != (decision != "failed") {
			t.Errorf("%s: %v: %s", text, err, out)
		}
	}
	if out, err := b.hermes("hooks", "doctor"); err == nil || !strings.Contains(out, "hooks/missing") {
		t.Errorf("doctor: %v: %s", err, out)
	}
	contains(t, "list", b.must("hooks", "list", "--json"), `"event":"pre_tool_call"`, `"command":"`+guard+`"`, "no such file")
	out, _ := b.hermes("doctor")
	contains(t, "doctor", out, "hooks/missing")

	// In the sandbox, a hook writes the workspace and nothing else, in a session and in a test. It is outside of HERMES_HOME.
	bound := filepath.Join(filepath.Dir(b.home), "tools", "guard")
	write(t, bound, quoted.Replace(guardHook))
	if err := os.Chmod(bound, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(b.home, "config.yaml"), "model: {provider: embedded}\nsandbox: {read: ["+filepath.Dir(bound)+"]}\nhooks: {pre_tool_call: [{matcher: terminal, command: "+bound+", sandbox: true}]}\n")
	want := "wrote " + b.workspace + "/made cannot write " + outside
	if out, _ := try("confineme"); !strings.Contains(out, "wrote "+b.workspace+"/made") || !strings.Contains(out, "cannot write "+outside) {
		t.Errorf("hooks test in the sandbox: %s", out)
	}
	b.open()
	contains(t, "in the sandbox", b.prompt(true, command("confineme")).text, want)
	b.line.end()
}
