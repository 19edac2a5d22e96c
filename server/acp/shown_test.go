package acp_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// The text of a failed call repeats a name that the model made up. It has no controls and nothing that
// reorders text.
func TestFailureHoldsNothingHidden(t *testing.T) {
	t.Parallel()
	path := `"a\u001b]0;x\u0007\u202e\u009b31m.txt"`
	c := connect(t, setup{model: fakemodel.Script(tool("read_file", `{"path":`+path+`}`), tool("search_files", `{"pattern":"x","path":`+path+`}`), tool("terminal", `{"command":"true","workdir":`+path+`}`), reply("ok"))})
	c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
	shown := 0
	for _, call := range calls(c.seen()) {
		for _, content := range call.Content {
			if call.Status != protocol.StatusFailed || content.Content == nil {
				continue
			}
			shown++
			if text := content.Content.Text; !strings.Contains(text, ".txt") || strings.ContainsAny(text, "\x1b\x07\u202e\u009b") {
				t.Errorf("it shows %q", text)
			}
		}
	}
	if shown != 3 {
		t.Errorf("%d failures are shown", shown)
	}
}

// A question and a call show no hidden text and nothing that reorders text.
func TestQuestionHoldsNothingHidden(t *testing.T) {
	t.Parallel()
	for name, hidden := range map[string]string{
		"escape": "\x1b[2K", "bidi": "\u202e", "zero width": "\u200b", "isolate": "\u2066", "tag": "\U000e0041",
		"bell": "\x07", "delete": "\x7f", "C1": "\u009b", "line separator": "\u2028", "byte order": "\ufeff", "blank letter": "\u3164",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, err := json.Marshal(map[string]string{"command": "rm -rf build # a" + hidden + "b"})
			if err != nil {
				t.Fatal(err)
			}
			path, err := json.Marshal(map[string]string{"path": "x" + hidden + ".txt", "content": "a" + hidden + "b\n\tc"})
			if err != nil {
				t.Fatal(err)
			}
			c := connect(t, setup{model: fakemodel.Script(tool("terminal", string(args)), tool("write_file", string(path)), reply("ok"))})
			c.strict = false
			var seen []json.RawMessage
			c.on(protocol.MethodRequestPermission, func(params json.RawMessage) (any, *protocol.Error) {
				seen = append(seen, params)
				return protocol.RequestPermissionResponse{Outcome: protocol.PermissionOutcome{Outcome: "selected", OptionID: "no"}}, nil
			})
			c.must(protocol.MethodSessionPrompt, say(c.newSession(), "clean"), nil)
			if len(seen) == 0 {
				t.Fatal("nothing asked")
			}
			for _, call := range calls(c.seen()) {
				if call.SessionUpdate != protocol.UpdateToolCall {
					continue // results are the output of programs
				}
				text, err := json.Marshal([]any{call.Title, call.RawInput, call.Locations})
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, text)
			}
			for _, message := range seen {
				var value any
				if err := json.Unmarshal(message, &value); err != nil {
					t.Fatal(err)
				}
				checkShown(t, value)
			}
		})
	}
}

// The model's text, its calls and its subagents cannot control a client's terminal, or reorder text.
func TestAnswerDoesNotSteerATerminal(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b[8m\x1b]52;c;ZXZpbA==\x07\u009b2Jb\u202ec\u2066\x7f"
	goal, err := json.Marshal(map[string]any{"goal": hostile, "toolsets": []string{"file"}})
	if err != nil {
		t.Fatal(err)
	}
	path, err := json.Marshal(map[string]string{"path": "n" + hostile, "content": "x"})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, setup{model: fakemodel.Script(
		tool("delegate_task", string(goal)), reply(hostile), func(x *fakemodel.Exchange) { x.Call("call-1", "no"+hostile, "{}"); x.End() }, tool("write_file", string(path)), reply(hostile),
	)})
	c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
	said := 0
	for _, u := range c.seen() {
		var value any
		if err := json.Unmarshal(u.Raw, &value); err != nil {
			t.Fatal(err)
		}
		said += strings.Count(string(u.Raw), "52;c;")
		checkSteers(t, value)
	}
	if said < 8 {
		t.Errorf("the text was shown %d times only", said)
	}
}

func checkSteers(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case string:
		if strings.ContainsFunc(v, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
		}) {
			t.Errorf("raw: %q", v)
		}
	case []any:
		for _, e := range v {
			checkSteers(t, e)
		}
	case map[string]any:
		for k, e := range v {
			checkSteers(t, k)
			checkSteers(t, e)
		}
	}
}

func checkShown(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case string:
		if strings.ContainsFunc(v, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == 0x3164)
		}) {
			t.Errorf("raw: %+q", v)
		}
	case []any:
		for _, e := range v {
			checkShown(t, e)
		}
	case map[string]any:
		for k, e := range v {
			checkShown(t, k)
			checkShown(t, e)
		}
	}
}

// TestEachRequestForAnEditShowsIt: a request for a change of a file shows the file's diff, in every
// tool. If it is denied with a reason, the model gets the reason, and nothing is changed.
func TestEachRequestForAnEditShowsIt(t *testing.T) {
	t.Parallel()
	skill := `{"action":"create","name":"release","content":"---\nname: release\ndescription: Makes a release.\n---\nTag it.\n"}`
	made := tool("write_file", `{"path":"made.sh","content":"mkdir -p .vscode; echo '{\"tasks\":[]}' > .vscode/tasks.json\n"}`)
	restore := func(x *fakemodel.Exchange) {
		list := x.Request.Messages[len(x.Request.Messages)-1].Text()
		_, id, _ := strings.Cut(list, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		x.Call("restore", "checkpoint", `{"action":"restore","id":"`+id+`"}`)
	}
	for name, test := range map[string]struct {
		config   string
		calls    []func(*fakemodel.Exchange)
		file     string
		old, new string // parts of the texts
	}{
		"restore": {calls: []func(*fakemodel.Exchange){tool("write_file", `{"path":"f.txt","content":"two\n"}`), tool("checkpoint", `{"action":"list"}`), restore},
			file: "f.txt", old: "two", new: "one"},
		"restore of a command": {calls: []func(*fakemodel.Exchange){tool("terminal", `{"command":"echo two > f.txt"}`), tool("checkpoint", `{"action":"list"}`), restore},
			file: "f.txt", old: "two", new: "one"},
		"left behind by a command": {calls: []func(*fakemodel.Exchange){made, tool("terminal", `{"command":"sh made.sh"}`)}, file: "tasks.json", new: `{"tasks":[]}`},
		"skill":                    {calls: []func(*fakemodel.Exchange){tool("skill_manage", skill)}, config: "skills: {write_approval: true}\n", file: "SKILL.md", new: "Tag it."},
		"memory":                   {calls: []func(*fakemodel.Exchange){tool("memory", `{"action":"add","content":"The user likes tabs."}`)}, file: "MEMORY.md", new: "The user likes tabs."},
		"careful":                  {calls: []func(*fakemodel.Exchange){tool("patch", `{"path":"f.txt","old_string":"one","new_string":"two"}`)}, config: "approvals: {mode: careful}\n", file: "f.txt", old: "one", new: "two"},
		"script, careful": {calls: []func(*fakemodel.Exchange){tool("execute_code", `{"code":"from hermes_tools import patch\nprint(patch('f.txt', 'one', 'two'))"}`)},
			config: "approvals: {mode: careful}\n", file: "f.txt", old: "one", new: "two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := fakemodel.Script(append(test.calls, reply("ok"))...)
			c := connect(t, setup{model: m, config: test.config})
			path := filepath.Join(c.ws, "f.txt")
			write(t, path, "one\n")
			shown := false
			c.on(protocol.MethodRequestPermission, func(params json.RawMessage) (any, *protocol.Error) {
				var p protocol.RequestPermissionRequest
				_ = json.Unmarshal(params, &p)
				for _, content := range p.ToolCall.Content {
					if content.Type == "diff" && strings.HasSuffix(content.Path, test.file) && strings.Contains(*content.NewText, test.new) &&
						(content.OldText == nil) == (test.old == "") && (test.old == "" || strings.Contains(*content.OldText, test.old)) {
						shown = true
					}
				}
				if !shown {
					t.Errorf("the request shows %s", params)
				}
				return json.RawMessage(`{"outcome":{"outcome":"selected","optionId":"no","_meta":{"hermes":{"reason":"not like this"}}}}`), nil
			})
			c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
			if !shown {
				t.Error("nothing was asked")
			}
			messages := m.Requests()[len(m.Requests())-1].Messages
			if got := messages[len(messages)-1].Text(); test.file != "tasks.json" && !strings.Contains(got, "Denied by the user: not like this") {
				t.Errorf("the model was told %s", got)
			}
		})
	}
}
