//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// extensionBed is a bed with plugins and hooks, and a session in it.
type extensionBed struct {
	bed
	t       *testing.T
	line    *line
	session string
	path    string // is searched for programs first; empty: nothing is
}

// environ is the bed's environment.
func (b *extensionBed) environ() []string {
	if b.path == "" {
		return b.bed.environ()
	}
	return append(b.bed.environ(), "PATH="+b.path+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// newExtensionBed writes files below the home. Files with #! at the start are executable.
func newExtensionBed(t *testing.T, home map[string]string) *extensionBed {
	t.Helper()
	b := &extensionBed{bed: newBed(t, map[string]string{"a.txt": "one two\n"}), t: t}
	b.add(home)
	return b
}

func (b *extensionBed) add(files map[string]string) {
	b.t.Helper()
	for name, text := range files {
		path := filepath.Join(b.home, name)
		write(b.t, path, text)
		if strings.HasPrefix(text, "#!") {
			if err := os.Chmod(path, 0o755); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// hermes runs a subcommand in the workspace and returns its output.
func (b *extensionBed) hermes(args ...string) (out string, err error) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), b.binary, args...)
	cmd.Dir, cmd.Env = b.workspace, b.environ()
	data, err := cmd.CombinedOutput()
	return string(data), err
}

// must runs a subcommand and requires success.
func (b *extensionBed) must(args ...string) string {
	b.t.Helper()
	out, err := b.hermes(args...)
	if err != nil {
		b.t.Fatalf("hermes-ls %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// open opens a session.
func (b *extensionBed) open() {
	b.t.Helper()
	b.line = b.bed.lineIn(b.t, exec.Command("env", "PATH="+b.path+string(filepath.ListSeparator)+os.Getenv("PATH"), b.binary, "acp"))
	b.session = b.line.newSession(b.workspace)
}

// call is a step of the model: a call of a tool.
func call(name string, args map[string]any) map[string]any {
	return map[string]any{"call": map[string]any{"name": name, "args": args}}
}

// heard is the client's input during a prompt.
type heard struct {
	asked []string // titles of approval requests
	text  string   // all updates
}

// prompt sends a prompt whose turn makes these calls. Approval requests are answered with allow.
func (b *extensionBed) prompt(allow bool, calls ...map[string]any) heard {
	b.t.Helper()
	steps := []string{}
	for _, c := range calls {
		data, err := json.Marshal([]any{c})
		if err != nil {
			b.t.Fatal(err)
		}
		steps = append(steps, string(data))
	}
	steps = append(steps, `[{"text":"Done."}]`)
	return b.say("run it\n```hermes-script\n"+strings.Join(steps, "\n")+"\n```", allow)
}

// say sends a prompt.
func (b *extensionBed) say(text string, allow bool) (h heard) {
	b.t.Helper()
	outcome := map[string]any{"outcome": "selected", "optionId": "no"}
	if allow {
		outcome["optionId"] = "once"
	}
	var all strings.Builder
	b.line.call("session/prompt", promptOf(b.session, text), nil, func(f frame) {
		if f.Method == "session/request_permission" {
			var p struct{ ToolCall struct{ Title string } }
			_ = json.Unmarshal(f.RawParams, &p)
			h.asked = append(h.asked, p.ToolCall.Title)
			b.line.answer(f, map[string]any{"outcome": outcome})
		}
		all.Write(f.RawParams)
		all.WriteByte('\n')
	})
	h.text = all.String()
	return h
}

// contains checks that a text has parts.
func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: there is no %q in:\n%s", what, part, text)
		}
	}
}

// toolServer is an MCP server with a tool that reports its environment.
const toolServer = `#!/usr/bin/env python3
import json, os, sys

def tried(path):
    try:
        open(path).read()
        return "read"
    except OSError:
        return "denied"

for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m.get("method") == "tools/list":
        r = {"tools": [{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]}
    elif m.get("method") == "tools/call":
        open(os.environ["PLUGIN_DATA"] + "/seen", "w").write("x")
        r = {"content": [{"type": "text", "text": "args=%s given=%s root=%s cwd=%s key=%s workspace=%s" % (
            sys.argv[1:], os.environ["GIVEN"], os.environ["PLUGIN_ROOT"], os.getcwd(), os.environ.get("HERMES_REPORT"), tried(WORKSPACE))}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// TestAgentPlugin enables a plugin of the format Agent Plugins and uses each of its parts.
func TestAgentPlugin(t *testing.T) {
	t.Parallel()
	b := newExtensionBed(t, nil)
	b.add(map[string]string{
		"plugins/kit/plugin.json":          `{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"kit","version":"1.0.0","description":"A kit."}`,
		"plugins/kit/skills/knit/SKILL.md": "---\nname: knit\ndescription: How to knit.\n---\nUse needles.\n",
		"plugins/kit/bin/server":           strings.Replace(toolServer, "WORKSPACE", fmt.Sprintf("%q", b.workspace+"/a.txt"), 1),
		"plugins/kit/mcp.json": `{"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json","mcpServers":{
			"yarn": {"type":"stdio","command":"./bin/server","args":["${PLUGIN_ROOT}/x","${OTHER}"],"env":{"GIVEN":"${PLUGIN_DATA}/y"}},
			"wrong": {"type":"stdio","command":"../server"}}}`,
		"plugins/kit/io.github.hermes-ls/hooks.json": `{"description":"Hooks.","hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[
			{"type":"command","command":"\"${CLAUDE_PLUGIN_ROOT}/bin/guard\" 'in the kit'"}]}],"post_tool_call":[{"matcher":"read_file","command":"./bin/note"}]}}`,
		"plugins/kit/bin/guard":                           "#!/bin/sh\necho \"$1: $(pwd) $(cat " + b.workspace + "/a.txt 2>&1 | grep -c one)\" >&2; exit 2\n",
		"plugins/kit/bin/note":                            "#!/bin/sh\necho '{\"note\": \"knitted\"}'\n",
		"plugins/kit/io.github.hermes-ls/commands/row.md": "---\ndescription: Knits rows.\nargument-hint: NUMBER\n---\nKnit rows.\n```hermes-script\n[{\"text\":\"Knitted-$1.\"}]\n```\n",
		"plugins/kit/io.github.hermes-ls/agents/sheep.md": "---\nname: sheep\ndescription: Gives wool.\ntools: read_file\n---\nYou are a sheep.\n",
	})
	dir := filepath.Join(b.home, "plugins", "kit")
	contains(t, "enable", b.must("plugin", "enable", "kit", "--yes"), "skill kit:knit", "MCP server yarn: ./bin/server ${PLUGIN_ROOT}/x ${OTHER}",
		"hook pre_tool_call: \"${CLAUDE_PLUGIN_ROOT}/bin/guard\" 'in the kit'", "hook post_tool_call: ./bin/note", "command kit:row: Knits rows.", "agent kit:sheep: Gives wool.", "the MCP server wrong of the plugin kit is left out")
	b.open()
	h := b.prompt(false, call("skill_view", map[string]any{"name": "kit:knit"}), call("mcp__kit-yarn__look", map[string]any{}))
	contains(t, "the turn", h.text, "Use needles.", "given="+b.home+"/plugin-data/kit/y", "root="+dir+" cwd="+dir+" key=None workspace=denied", "args=['"+dir+"/x', '${OTHER}']", "the MCP server wrong of the plugin kit is left out")
	if _, err := os.Stat(filepath.Join(b.home, "plugin-data", "kit", "seen")); err != nil {
		t.Error(err)
	}
	h = b.prompt(true, call("terminal", map[string]any{"command": "echo hello"}), call("read_file", map[string]any{"path": "a.txt"}))
	contains(t, "hooks", h.text, `The user's hook \"kit\" blocked this call: in the kit: `+dir+` 0. Do not`, "knitted")
	contains(t, "a command", b.say("/kit:row 7", true).text, "Sent to the model:", "Knit rows.", "Knitted-7.")
	contains(t, "an agent", b.say("/agent kit:sheep Say hello", true).text, "kit:sheep")
	contains(t, "/plugins", b.say("/plugins", true).text, "agent kit:sheep: Gives wool.")
	contains(t, "mcp list", b.must("mcp", "list"), "kit-yarn", "connected")
	b.line.end()
	write(t, filepath.Join(dir, "mcp.json"), `{"mcpServers":{}}`)
	contains(t, "a changed plugin", b.must("plugin", "list"), "changed")
	if out := b.must("mcp", "list"); strings.Contains(out, "kit-yarn") {
		t.Errorf("a server of a changed plugin is there: %s", out)
	}
}

// TestPluginTemplates makes a plugin in each language, runs its own test, enables it and calls its tool.
func TestPluginTemplates(t *testing.T) {
	t.Parallel()
	node := newNode(t)
	for language, c := range map[string]struct{ build, test []string }{
		"python":     {nil, []string{"python3", "-m", "unittest"}},
		"command":    {nil, []string{"./test.sh"}},
		"go":         {[]string{"go", "build", "-o", "made-go"}, []string{"go", "test", "-vet=off", "./..."}},
		"typescript": {nil, []string{node, "--test"}},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			b := newExtensionBed(t, nil)
			// The program node of plugin.yaml is found in PATH.
			b.path = filepath.Dir(node)
			name := "made-" + language
			contains(t, "create", b.must("plugin", "create", name, "--"+language), "hermes-ls plugin dev "+name)
			dir := filepath.Join(b.home, "plugins", name)
			for _, args := range [][]string{c.build, c.test} {
				if args == nil {
					continue
				}
				cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
			}
			contains(t, "validate", b.must("plugin", "validate", dir), "is valid")
			b.must("plugin", "enable", name, "--yes")
			b.open()
			h := b.prompt(false, call(strings.ReplaceAll(name, "-", "_")+"_words", map[string]any{"path": "a.txt"}))
			contains(t, "the tool", h.text, `"words":2`)
			if len(h.asked) > 0 {
				t.Errorf("asked %q", h.asked)
			}
			b.line.end()
		})
	}
}

// TestPluginDev writes a plugin while hermes-ls plugin dev runs it.
func TestPluginDev(t *testing.T) {
	t.Parallel()
	b := newExtensionBed(t, nil)
	b.must("plugin", "create", "mine")
	file := filepath.Join(b.home, "plugins", "mine", "__init__.py")
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, b.binary, "plugin", "dev", "mine")
	cmd.Dir, cmd.Env = b.workspace, b.environ()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	wait := func(parts ...string) {
		t.Helper()
		var seen []string
		for lines.Scan() {
			seen = append(seen, lines.Text())
			if all := slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(lines.Text(), p) }); !all {
				return
			}
		}
		t.Fatalf("no line has %q:\n%s", parts, strings.Join(seen, "\n"))
	}
	change := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), from) {
			t.Fatalf("%q is not in the plugin: %v", from, err)
		}
		write(t, file, strings.Replace(string(text), from, to, 1))
	}
	wait("started: tool mine_words")
	fmt.Fprintln(in, `mine_words {"path": "a.txt"}`)
	wait("-> ", `"method":"tool"`, `"path":"a.txt"`)
	wait("<- ", `"words": 2`)
	change(`return {"words"`, `return {"counted"`)
	wait("started: tool mine_words")
	fmt.Fprintln(in, `mine_words {"path": "a.txt"}`)
	wait("<- ", `"counted": 2`)
	change(`return {"counted"`, `return {"counted" 7`)
	wait("cannot start: __init__.py:9: SyntaxError")
	change(`{"counted" 7`, `{"counted"`)
	wait("started: ")
	fmt.Fprintln(in, `mine_words {"path": "none.txt"}`)
	wait("error: __init__.py:9: FileNotFoundError")
	fmt.Fprintln(in, `mine_words not json`)
	wait("the arguments are not JSON")
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
