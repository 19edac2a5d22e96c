package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
	"github.com/hermes-ls/hermes-ls/tools"
)

// bed is a session with hooks, and a tool that returns its arguments.
type bed struct {
	t       *testing.T
	dir     string
	set     *extension.Set
	notices []string
}

// newBed opens a session with the hooks of a section. In commands, DIR is a directory with the
// given scripts.
func newBed(t *testing.T, section string, scripts map[string]string) *bed {
	t.Helper()
	dir, err := os.MkdirTemp("", "h") // short: texts show the first characters of a command
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // a folder of the test
	b := &bed{t: t, dir: dir}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte("#!/bin/bash\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var value map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(section, "DIR", b.dir)), &value); err != nil {
		t.Fatal(err)
	}
	all, _ := hooks.Parse(value)
	hooks.Judge(all)
	e := hooks.New(hooks.Options{Dir: filepath.Join(b.dir, "cwd"), Environ: func(context.Context, []string) []string { return []string{"PATH=" + os.Getenv("PATH")} }})
	b.set, err = extension.Open(t.Context(), []extension.Extension{e}, func(name string) *extension.Session {
		return &extension.Session{ID: "s", Name: name, Cwd: "/work", Folders: func() []string { return []string{"/work"} },
			Config: func(into any) error { *into.(*[]hooks.Hook) = all; return nil }, Emit: func(e extension.Event) { b.notices = append(b.notices, e.Title) }}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var echo = tools.Tool{Name: "terminal", Toolset: "terminal", Kind: tools.KindExecute, RunsCommands: true}

// before sends a call through the hooks.
func (b *bed) before(ctx context.Context, args string) (answer string, out tools.Admission) {
	b.t.Helper()
	out = b.set.Events().BeforeCall(ctx, &tools.Env{SessionID: "s"}, echo, tools.Call{ID: "c1", Name: echo.Name, Args: json.RawMessage(args)})
	if out.Answer != nil {
		answer = string(out.Answer.JSON)
	}
	return answer, out
}

// TestBeforeCall checks the answers of hooks before a call.
func TestBeforeCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		extra  string // further fields of the hook
		answer string // a part of the result that replaces the call; empty: it runs
		ask    string
		args   string // after the hook
	}{
		"no opinion":                 {"", "", "", "", `{"command":"ls"}`},
		"Hermes blocks":              {`echo '{"action":"block","message":"not today."}'`, "", `The user's hook \"DIR/h\" blocked this call: not today. Do not try it in another form.`, "", ""},
		"Claude Code blocks":         {`echo '{"decision":"block","reason":"no"}'`, "", "blocked this call: no.", "", ""},
		"Claude Code denies":         {`echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"never"}}'`, "", "blocked this call: never.", "", ""},
		"exit 2 blocks":              {`echo 'use make' >&2; exit 2`, "", "blocked this call: use make.", "", ""},
		"a changed argument":         {`echo '{"action":"modify","args":{"timeout":5}}'`, "", "", "", `{"command":"ls","timeout":5}`},
		"other arguments":            {`echo '{"hookSpecificOutput":{"updatedInput":{"command":"pwd"}}}'`, "", "", "", `{"command":"pwd"}`},
		"asks":                       {`echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"risky"}}'`, "", "", `needs your approval, says the hook "DIR/h": risky`, `{"command":"ls"}`},
		"an approval asks":           {`echo '{"action":"approve"}'`, "", "", `needs your approval, says the hook "DIR/h"`, `{"command":"ls"}`},
		"allow is no opinion":        {`echo '{"hookSpecificOutput":{"permissionDecision":"allow"},"decision":"approve"}'`, "", "", "", `{"command":"ls"}`},
		"fails":                      {`echo oh >&2; exit 1`, "", `terminal was not run: the hook \"DIR/h\" failed (it ended with exit code 1: oh). Tell the user; do not try to get around it.`, "", ""},
		"writes text":                {`echo hello`, "", `failed (its output is not a JSON object of the known form)`, "", ""},
		"hangs":                      {`sleep 600`, `,"timeout":0.2`, `failed (no answer within 200ms)`, "", ""},
		"floods":                     {`yes`, `,"timeout":20`, `failed (`, "", ""},
		"is killed":                  {`kill -9 $$`, "", `failed (it ended with exit code 137`, "", ""},
		"fails open":                 {`exit 1`, `,"fail_closed":false`, "", "", `{"command":"ls"}`},
		"another tool":               {`exit 2`, `,"matcher":"read_.*"`, "", "", `{"command":"ls"}`},
		"a part of the name":         {`exit 2`, `,"matcher":"term"`, "", "", `{"command":"ls"}`},
		"this tool":                  {`echo x >&2; exit 2`, `,"matcher":"term.*|x"`, "blocked this call: x.", "", ""},
		"a matcher with white space": {`echo x >&2; exit 2`, `,"matcher":" read_.* |\n  terminal\n"`, "blocked this call: x.", "", ""},
		"Claude Code's name":         {`echo x >&2; exit 2`, `,"matcher":"Bash"`, "blocked this call: x.", "", ""},
		"does not run in a shell":    {`[ "$1" = '$HOME a' ] || exit 1`, "", "", "", `{"command":"ls"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := "DIR/h"
			if strings.Contains(c.script, "$1") {
				command += ` '$HOME a'`
			}
			if name == "floods" {
				c.script = "head -c 2000000 /dev/zero"
			}
			b := newBed(t, `{"pre_tool_call":[{"command":"`+command+`"`+c.extra+`}]}`, map[string]string{"h": c.script})
			answer, out := b.before(t.Context(), `{"command":"ls"}`)
			if want := strings.ReplaceAll(c.answer, "DIR", b.dir); !strings.Contains(answer, want) || (answer != "") != (c.answer != "") {
				t.Errorf("answered %s", answer)
			}
			if want := strings.ReplaceAll(c.ask, "DIR", b.dir); out.Ask != want {
				t.Errorf("asks %q", out.Ask)
			}
			if c.args != "" && string(out.Call.Args) != c.args {
				t.Errorf("the arguments are %s", out.Call.Args)
			}
		})
	}
}

// TestPayload checks the input of hooks with the names of Hermes and of Claude Code.
func TestPayload(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"pre_tool_call":    `{"hook_event_name":"pre_tool_call","tool_name":"terminal","tool_input":{"command":"ls","path":"a.go"},"session_id":"s","cwd":"/work","transcript_path":"","extra":{"tool_call_id":"c1"},"tool_use_id":"c1"}`,
		"before-tool-call": `{"hook_event_name":"pre_tool_call","tool_name":"terminal","tool_input":{"command":"ls","path":"a.go"},"session_id":"s","cwd":"/work","transcript_path":"","extra":{"tool_call_id":"c1"},"tool_use_id":"c1"}`,
		"PreToolUse":       `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","file_path":"/work/a.go","path":"a.go"},"session_id":"s","cwd":"/work","transcript_path":"","extra":{"tool_call_id":"c1"},"tool_use_id":"c1"}`,
	} {
		b := newBed(t, `{"`+name+`":[{"command":"DIR/h","matcher":"terminal|Bash"}]}`, map[string]string{"h": `cat > ` + "$(dirname $0)/in; env > $(dirname $0)/env; pwd >> $(dirname $0)/env"})
		if answer, _ := b.before(t.Context(), `{"command":"ls","path":"a.go"}`); answer != "" {
			t.Error(answer)
		}
		got, err := os.ReadFile(filepath.Join(b.dir, "in"))
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		env, _ := os.ReadFile(filepath.Join(b.dir, "env"))
		if !strings.Contains(string(env), "HERMES_HOOK_EVENT=pre_tool_call\n") || !strings.HasSuffix(string(env), "/cwd\n") {
			t.Errorf("the environment is\n%s", env)
		}
	}
	b := newBed(t, `{"PreToolUse":[{"command":"DIR/h"}]}`, map[string]string{"h": `echo '{"hookSpecificOutput":{"updatedInput":{"file_path":"/work/a.go","command":"x"}}}'`})
	if _, out := b.before(t.Context(), `{"path":"a.go"}`); string(out.Call.Args) != `{"command":"x"}` && string(out.Call.Args) != `{"command":"x","path":"/work/a.go"}` {
		t.Errorf("the arguments are %s", out.Call.Args)
	}
}

// TestSeveral checks that the strictest hook wins and changes apply in order.
func TestSeveral(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{
		"one":  `echo '{"args":{"a":1,"b":1}}'`,
		"two":  `echo '{"args":{"b":2}}'`,
		"asks": `echo '{"action":"approve","message":"sure?"}'`,
		"no":   `sleep 0.2; exit 2`,
	}
	b := newBed(t, `{"pre_tool_call":[{"command":"DIR/one"},{"command":"DIR/two"},{"command":"DIR/asks"}]}`, scripts)
	if answer, out := b.before(t.Context(), `{}`); answer != "" || !strings.Contains(out.Ask, "sure?") || string(out.Call.Args) != `{"a":1,"b":2}` {
		t.Errorf("%s %+v", answer, out)
	}
	b = newBed(t, `{"pre_tool_call":[{"command":"DIR/one"},{"command":"DIR/asks"},{"command":"DIR/no"}]}`, scripts)
	if answer, _ := b.before(t.Context(), `{}`); !strings.Contains(answer, "blocked this call") {
		t.Errorf("%s", answer)
	}
}

// TestCancel checks that a hook and its descendants end with the turn.
func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBed(t, `{"pre_tool_call":[{"command":"DIR/h"}]}`, map[string]string{"h": `sleep 600 & echo $! > $(dirname $0)/pid; wait`})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan string)
	go func() { answer, _ := b.before(ctx, `{}`); done <- answer }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if data, err := os.ReadFile(filepath.Join(b.dir, "pid")); err == nil && strings.HasSuffix(string(data), "\n") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the hook does not start")
		}
	}
	cancel()
	if answer := <-done; answer == "" {
		t.Error("the call runs after a cancel")
	}
	if err := b.set.Close(t.Context()); err != nil { // waits for the hook
		t.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(b.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(data)) + "/stat")
	if err == nil && !strings.Contains(string(state), ") Z ") {
		t.Errorf("a child of the hook still runs: %s", state)
	}
}

// TestResults checks hooks for results.
func TestResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ event, script, want string }{
		"replaced":         {"transform_tool_result", `echo '{"result":{"output":"short"}}'`, `{"output":"short"}`},
		"replaced by text": {"transform_tool_result", `echo '{"result":"short"}'`, `{"result":"short"}`},
		"added to":         {"transform_tool_result", `echo '{"note":"seen"}'`, `{"output":"long","note":"seen"}`},
		"text":             {"after-tool-call", `echo seen`, `{"output":"long","note":"seen"}`},
		"a note":           {"PostToolUse", `echo '{"note":"run the formatter"}'`, `{"output":"long","note":"run the formatter"}`},
		"Claude's reason":  {"PostToolUse", `echo '{"decision":"block","reason":"tests fail"}'`, `{"output":"long","note":"tests fail"}`},
		"exit 2":           {"post_tool_call", `echo lint >&2; exit 2`, `{"output":"long","note":"lint"}`},
		"failed":           {"post_tool_call", `exit 1`, `{"output":"long"}`},
	} {
		b := newBed(t, `{"`+c.event+`":[{"command":"DIR/h"}]}`, map[string]string{"h": c.script})
		r := b.set.Events().AfterCall(t.Context(), &tools.Env{SessionID: "s"}, echo, tools.Call{ID: "1", Name: echo.Name, Args: json.RawMessage(`{}`)}, tools.Result{JSON: json.RawMessage(`{"output":"long"}`)})
		if string(r.JSON) != c.want {
			t.Errorf("%s: %s", name, r.JSON)
		}
	}
	b := newBed(t, `{"transform_tool_result":[{"command":"DIR/h","fail_closed":true}]}`, map[string]string{"h": "exit 1"})
	r := b.set.Events().AfterCall(t.Context(), &tools.Env{}, echo, tools.Call{Args: json.RawMessage(`{}`)}, tools.Result{JSON: json.RawMessage(`{"output":"secret"}`)})
	if strings.Contains(string(r.JSON), "secret") {
		t.Errorf("not withheld: %s", r.JSON)
	}
}

// TestTurn checks hooks of prompts, answers, compactions and sessions.
func TestTurn(t *testing.T) {
	t.Parallel()
	b := newBed(t, `{
		"UserPromptSubmit":[{"command":"DIR/prompt"}], "Stop":[{"command":"DIR/stop"}], "PreCompact":[{"command":"DIR/text"}],
		"SessionStart":[{"command":"DIR/text"}], "subagent-start":[{"command":"DIR/text"}]}`, map[string]string{
		"prompt": `grep -q secret && { echo 'no secrets' >&2; exit 2; }; echo '{"hookSpecificOutput":{"additionalContext":"Today is Monday."}}'`,
		"stop":   `grep -q '"stop_hook_active":false' && echo '{"decision":"block","reason":"run the tests"}'; exit 0`,
		"text":   `echo plain text`,
	})
	e, ctx := b.set.Events(), t.Context()
	if added, _, block := e.Prompt(ctx, extension.Prompt{Text: "hello"}); block != "" || len(added) != 1 || added[0] != "Today is Monday." {
		t.Errorf("%q %q", added, block)
	}
	if _, _, block := e.Prompt(ctx, extension.Prompt{Text: "my secret"}); !strings.Contains(block, "blocked this prompt: no secrets") {
		t.Errorf("%q", block)
	}
	if _, more := e.Output(ctx, extension.Output{Text: "done"}); more != "run the tests" {
		t.Errorf("%q", more)
	}
	if _, more := e.Output(ctx, extension.Output{Text: "done", Continued: true}); more != "" {
		t.Errorf("continued again: %q", more)
	}
	if texts := e.Compress(ctx, extension.Compression{}); len(texts) != 1 || texts[0] != "plain text" {
		t.Errorf("%q", texts)
	}
	if texts := e.SessionStart(ctx, extension.SessionEvent{}); len(texts) != 1 || texts[0] != "plain text" {
		t.Errorf("%q", texts)
	}
	if texts := e.SubagentStart(ctx, extension.SubagentEvent{}); len(texts) != 1 || texts[0] != "plain text" {
		t.Errorf("%q", texts)
	}
}

// TestParse checks which sections are valid.
func TestParse(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`{"pre_tool_call":[{"command":"a b"}],"output_spill":{}}`: "",
		`{"no_such_event":[]}`:                     "hooks.no_such_event is not an event",
		`{"Stop":{"command":"x"}}`:                 "must be a list",
		`{"Stop":[{"command":""}]}`:                "it is empty",
		`{"Stop":[{"command":"a | b"}]}`:           "without a shell",
		`{"Stop":[{"command":"a","matcher":"("}]}`: "not a regular expression",
	} {
		var value map[string]any
		if err := json.Unmarshal([]byte(section), &value); err != nil {
			t.Fatal(err)
		}
		_, problems := hooks.Parse(value)
		if err := errors.Join(problems...); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", section, err)
		}
	}
}

// TestOrder checks that changes apply in configuration order, even if an event is named in two
// ways.
func TestOrder(t *testing.T) {
	t.Parallel()
	schema := config.NewSchema(*hooks.Section())
	for _, names := range [][]string{{"pre_tool_call", "PreToolUse"}, {"PreToolUse", "pre_tool_call"}} {
		home := t.TempDir()
		text := fmt.Sprintf("hooks:\n  Stop: [{command: x}]\n  %s:\n    - command: one\n  %s:\n    - command: two\n", names[0], names[1])
		if err := os.WriteFile(config.Path(home), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, problems := hooks.Of(schema.Load(home, config.Options{}))
		if len(all) != 3 || len(problems) > 0 || all[1].Command != "one" || all[2].Command != "two" {
			t.Errorf("%v: %v, %v", names, all, problems)
		}
	}
}

// TestInvalid checks that an unreadable hook blocks calls.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for section, blocks := range map[string]bool{
		`{"pre_tool_call":[{"command":"true","matcher":"term["}]}`:                          true,
		`{"pre_tool_call":[{"command":"a 'b"}]}`:                                            true,
		`{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"}]}]}`: true,
		`{"pre_tool_call":"true"}`:                                                          true,
		`{"pre_tool_call":[{"command":"true","matcher":"term[","fail_closed":false}]}`:      false,
		`{"post_tool_call":[{"command":"a 'b"}]}`:                                           false,
	} {
		b := newBed(t, section, nil)
		answer, _ := b.before(t.Context(), `{}`)
		if (answer != "") != blocks || blocks && !strings.Contains(answer, "terminal was not run: the hook") {
			t.Errorf("%s: answered %q", section, answer)
		}
	}
}

// TestCannotStart checks the notice when a session begins.
func TestCannotStart(t *testing.T) {
	t.Parallel()
	b := newBed(t, `{"Stop":[{"command":"no-such-program-here --x"},{"command":"sh -c true"}]}`, nil)
	if start := b.set.Opened(nil); start != nil {
		start()
	}
	if len(b.notices) != 1 || !strings.Contains(b.notices[0], `The hook "no-such-program-here --x" for transform_llm_output cannot start`) {
		t.Errorf("%q", b.notices)
	}
}

// A matcher with any of Claude Code's names of a tool matches it.
func TestMatchersOfClaudeCode(t *testing.T) {
	t.Parallel()
	for matcher, tool := range map[string]string{"Glob": "search_files", "LS": "search_files", "Grep|Glob": "search_files", "Edit|MultiEdit": "patch", "MultiEdit": "patch", "Write": "write_file", "Read": "read_file"} {
		all, problems := hooks.Parse(map[string]any{"PreToolUse": []any{map[string]any{"matcher": matcher, "command": "a"}}})
		if len(all) != 1 || len(problems) > 0 || !all[0].Runs("PreToolUse", tool) || all[0].Runs("PreToolUse", "terminal") {
			t.Errorf("%s does not fit %s alone: %v", matcher, tool, problems)
		}
	}
}

// A matcher is reported if it can match no tool. Other matchers are not.
func TestMatcherOfNoTool(t *testing.T) {
	t.Parallel()
	for matcher, want := range map[string]string{
		"terminal": "", "Bash": "", "Bash|nothing": "", "(?i)BASH": "", "read_.*": "", ".*": "", "*": "", "": "", "LS": "", "NotebookEdit": "", "patch|write_file": "",
		"mcp__db__query": "", "mcp__.*": "", "mcp_db_query": "", ".*delete.*": "", "(mcp__a|x)__y": "", "[a-z_]+__write": "", "(?i)MCP__DB__.*": "",
		"terminel": "fits no tool", "^shell_$": "fits no tool", "Terminal|Shell": "fits no tool", "mc": "fits no tool", "git_.*": "fits no tool", "(?:a|b)+": "fits no tool",
		"bash": `fits no tool. Write "terminal"`, "edit_file": `fits no tool. Write "patch"`, "^read$": "fits no tool", "MCP__DB__.*": "fits no tool",
	} {
		all, problems := hooks.Parse(map[string]any{"pre_tool_call": []any{map[string]any{"matcher": matcher, "command": "true"}}, "on_session_start": []any{map[string]any{"matcher": "startup", "command": "true"}}})
		hooks.Judge(all)
		if len(all) != 2 || len(problems) > 0 {
			t.Fatalf("%q: %v", matcher, problems)
		}
		for _, h := range all {
			got := h.NeverRuns()
			if h.Matcher == "startup" || want == "" {
				if got != "" {
					t.Errorf("%q: %s", h.Matcher, got)
				}
			} else if !strings.Contains(got, want) {
				t.Errorf("%q: %q, want %q", matcher, got, want)
			}
		}
	}
	b := newBed(t, `{"PreToolUse":[{"matcher":"bash","command":"sh -c true"}],"post_tool_call":[{"matcher":"terminal","command":"sh -c true"}]}`, nil)
	if start := b.set.Opened(nil); start != nil {
		start()
	}
	if len(b.notices) != 1 || !strings.Contains(b.notices[0], `The hook "sh -c true" for pre_tool_call: it never runs, because its matcher "bash" fits no tool. Write "terminal"`) {
		t.Errorf("%q", b.notices)
	}
}

// A hook's arguments unknown to the tool are left out.
func TestUnknownArguments(t *testing.T) {
	t.Parallel()
	type in struct {
		Command string `json:"command"`
		Timeout int    `json:"timeout,omitempty"`
	}
	tool := tools.New(tools.Tool{Name: "terminal", Toolset: "terminal", RunsCommands: true, Kind: tools.KindExecute, Description: "Runs."},
		func(context.Context, *tools.Env, tools.Call, in) (tools.Result, error) { return tools.OK(nil), nil })
	b := newBed(t, `{"PreToolUse":[{"command":"DIR/h"}]}`, map[string]string{"h": `echo '{"hookSpecificOutput":{"updatedInput":{"command":"pwd","run_in_foreground_of":"x","timeout":3}}}'`})
	out := b.set.Events().BeforeCall(t.Context(), &tools.Env{SessionID: "s"}, tool, tools.Call{ID: "c1", Name: tool.Name, Args: json.RawMessage(`{"command":"ls"}`)})
	if string(out.Call.Args) != `{"command":"pwd","timeout":3}` {
		t.Errorf("the arguments are %s", out.Call.Args)
	}
}

// Claude Code's settings are imported. Unconverted, they cause an error that describes the import.
func TestImport(t *testing.T) {
	t.Parallel()
	settings := map[string]any{"permissions": map[string]any{}, "hooks": map[string]any{
		"PreToolUse": []any{
			map[string]any{"matcher": " Edit | Write\n", "hooks": []any{
				map[string]any{"type": "command", "command": `jq . | tee "$CLAUDE_PROJECT_DIR"/it's`, "timeout": 5},
				map[string]any{"type": "prompt", "prompt": "x"},
			}},
			map[string]any{"command": "plain"},
		},
		"Stop":         []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "./done.sh a"}}}},
		"Notification": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "a"}}}},
	}}
	got := hooks.Import(settings)
	data, err := json.Marshal(got.Hooks)
	want := `{"PreToolUse":[{"command":"sh -c 'jq . | tee \"$CLAUDE_PROJECT_DIR\"/it'\\''s'","matcher":"Edit|Write","timeout":5},{"command":"plain"}],"Stop":[{"command":"./done.sh a"}]}`
	if err != nil || string(data) != want || len(got.Notes) != 2 {
		t.Errorf("%s, %q, %v", data, got.Notes, err)
	}
	section := map[string]any{}
	for event, list := range got.Hooks {
		section[event] = list
	}
	if _, problems := hooks.Parse(section); len(problems) > 0 {
		t.Errorf("what was imported is wrong: %v", problems)
	}
	for _, pasted := range []map[string]any{settings["hooks"].(map[string]any), settings} {
		_, problems := hooks.Parse(pasted)
		if !strings.Contains(fmt.Sprint(problems), "hermes-ls hooks import") {
			t.Errorf("pasted: %v", problems)
		}
	}
}
