package plugins_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/plugins"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// bed is a home with plugins, and a workspace.
type bed struct {
	t          *testing.T
	home, work string
	settings   plugins.Settings
	options    plugins.Options
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, home: filepath.Join(t.TempDir(), ".hermes"), work: t.TempDir()}
	b.options = plugins.Options{Home: b.home, Environ: func(context.Context, []string) []string {
		return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	}}
	b.settings.Entries = map[string]any{}
	return b
}

// add writes a plugin. Files starting with #! are executable.
func (b *bed) add(name string, files map[string]string) string {
	b.t.Helper()
	dir := filepath.Join(plugins.Dir(b.home), name)
	for file, text := range files {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.t.Fatal(err)
		}
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			b.t.Fatal(err)
		}
	}
	return dir
}

// example copies an example of the repository.
func (b *bed) example(name string) {
	b.t.Helper()
	dir := filepath.Join(plugins.Dir(b.home), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("examples", name))); err != nil {
		b.t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "main.go")); err == nil {
		run(b.t, "go", "build", "-trimpath", "-o", filepath.Join(dir, name), "./examples/"+name)
	}
}

func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

func getenv(name string) string {
	if name == "PLUGIN_KEY" {
		return "the key"
	}
	return ""
}

// enable does the work of hermes-ls plugin enable.
func (b *bed) enable(names ...string) {
	b.t.Helper()
	for _, name := range names {
		p, err := plugins.Load(filepath.Join(plugins.Dir(b.home), name))
		if err != nil {
			b.t.Fatal(err)
		}
		sum, err := plugins.Sum(p.Dir)
		if err != nil {
			b.t.Fatal(err)
		}
		offer, err := plugins.Initialize(b.t.Context(), b.options, p, b.settings.Of(name), getenv)
		if err != nil {
			b.t.Fatalf("%s: %v\n%s", name, err, b.log(name))
		}
		if err := plugins.SaveGrant(b.t.Context(), b.home, name, plugins.Grant{Sum: sum, Offer: offer, Permissions: p.Permissions}); err != nil {
			b.t.Fatal(err)
		}
		b.settings.Enabled = append(b.settings.Enabled, name)
	}
}

func (b *bed) log(name string) string {
	data, _ := os.ReadFile(plugins.LogPath(b.home, name))
	return string(data)
}

// logged waits for a text in the log.
func (b *bed) logged(name, text string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(b.log(name), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("no %q in the log", text)
		}
	}
}

// session is a session with the plugins of a bed.
type session struct {
	t     *testing.T
	set   *extension.Set
	tools *tools.Set
	env   *tools.Env

	mu      sync.Mutex
	notices []string
	asked   []string
}

// readFile is a tool of the session, for calls by plugins.
var readFile = tools.Tool{
	Name: "read_file", Toolset: "files", ReadOnly: true, Description: "x", Schema: json.RawMessage(`{"type":"object"}`),
	Run: func(_ context.Context, _ *tools.Env, c tools.Call) (tools.Result, error) {
		return tools.OK(map[string]any{"content": "unsaved text of " + string(c.Args)}), nil
	},
}

func (b *bed) open() *session {
	b.t.Helper()
	s := &session{t: b.t}
	var err error
	s.set, err = extension.Open(b.t.Context(), []extension.Extension{plugins.New(b.options)}, func(name string) *extension.Session {
		return &extension.Session{
			ID: "s", Name: name, Cwd: b.work, Folders: func() []string { return []string{b.work} }, Redact: func(text string) string { return text },
			Config: func(into any) error {
				*into.(*plugins.Config) = plugins.Config{Settings: b.settings, Getenv: getenv}
				return nil
			},
			Emit: func(e extension.Event) { s.mu.Lock(); defer s.mu.Unlock(); s.notices = append(s.notices, e.Title) },
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := s.set.Close(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
	list, err := s.set.Tools(b.t.Context(), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if s.tools, err = tools.NewSet(append([]tools.Tool{readFile}, list...)...); err != nil {
		b.t.Fatal(err)
	}
	s.tools.Events = s.set.Events()
	s.env = &tools.Env{SessionID: "s", Dispatch: tools.Dispatch{Set: s.tools}, Gate: s}
	s.set.ToolsListed(s.env)
	if start := s.set.Opened(nil); start != nil {
		start()
	}
	return s
}

// Check approves all calls.
func (s *session) Check(_ context.Context, _ *tools.Env, _ tools.Call, _ tools.Kind, title string, v policy.Verdict) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.Level == policy.Asks {
		s.asked = append(s.asked, title)
	}
	return nil
}
func (*session) CheckEdit(context.Context, *tools.Env, tools.Call, tools.Edit) error {
	return nil
}
func (*session) Wait(context.Context) (func(), error)        { return func() {}, nil }
func (s *session) ForSubagent(string, string) tools.Approver { return s }
func (*session) Planning() bool                              { return false }

// call calls a tool and returns its result.
func (s *session) call(name, args string) string {
	s.t.Helper()
	r, err := s.tools.Call(s.t.Context(), s.env, tools.Call{ID: "c1", Name: name, Args: json.RawMessage(args)})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(r.JSON)
}

func (s *session) wants(name, args, want string) {
	s.t.Helper()
	if got := s.call(name, args); !strings.Contains(got, want) {
		s.t.Errorf("%s %s: %s, without %q", name, args, got, want)
	}
}

// python is a plugin in Python. register is the body of its function register.
func python(permissions, register string) map[string]string {
	return map[string]string{
		"plugin.yaml": "name: p\nversion: 1.0.0\ndescription: d\npermissions: " + permissions + "\n",
		"__init__.py": "import os, json, time, sys, threading\ndef register(ctx):\n    " + strings.ReplaceAll(register, "\n", "\n    ") + "\n",
	}
}

// tool returns the lines that register a tool.
func tool(name, body string) string {
	return "def " + name + "(args, **kw):\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\nctx.register_tool(name='" + name + "', toolset='mine', schema={'type': 'object', 'properties': {}}, handler=" + name + ", description='d')"
}

// TestExamples uses the three examples, in Python, Go and shell.
func TestExamples(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	b := newBed(t)
	for _, name := range []string{"word-count", "no-force-push", "todo-finder"} {
		b.example(name)
	}
	b.settings.Entries["word-count"] = map[string]any{"settings": map[string]any{"limit": 2}}
	b.enable("word-count", "no-force-push", "todo-finder")
	if err := os.WriteFile(filepath.Join(b.work, "a.md"), []byte("one two three\n<!-- TODO: more -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := b.open()
	if len(s.notices) > 0 {
		t.Error(s.notices)
	}
	s.wants("word_count", `{"path":"a.md"}`, `"words": 7`)
	s.wants("word_count", `{"path":"a.md","open_buffer":true}`, `"words": 4`)
	s.wants("word_count", `{"path":"b.md"}`, `word_count of the plugin word-count failed: __init__.py:`)
	s.wants("find_todos", `{}`, `a.md:2:: more`)

	subagent, err := s.set.Derive(t.Context(), extension.Subagent, extension.Own{ID: "child"})
	if err != nil {
		t.Fatal(err)
	}
	terminal := tools.Tool{Name: "terminal", Toolset: "terminal", RunsCommands: true}
	for command, blocked := range map[string]bool{"git push": false, "git push --force origin main": true} {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		out := s.set.Events().BeforeCall(t.Context(), s.env, terminal, tools.Call{ID: "1", Name: "terminal", Args: args})
		if (out.Answer != nil) != blocked {
			t.Errorf("%s: %+v", command, out)
		}
		child := subagent.Events().BeforeCall(t.Context(), s.env, terminal, tools.Call{ID: "1", Name: "terminal", Args: args})
		if (child.Answer != nil) != blocked {
			t.Errorf("of a subagent, %s: %+v", command, child)
		}
		if blocked && !strings.Contains(string(out.Answer.JSON), `The user's hook \"no-force-push\" blocked this call: it overwrites history; use git push --force-with-lease. Do not try it in another form.`) {
			t.Errorf("%s", out.Answer.JSON)
		}
	}
	write := tools.Tool{Name: "write_file", Toolset: "files"}
	r := s.set.Events().AfterCall(t.Context(), s.env, write, tools.Call{ID: "1", Name: write.Name, Args: json.RawMessage(`{"path":"a.md"}`)}, tools.OK(map[string]any{"ok": true}))
	if !strings.Contains(string(r.JSON), "a.md has 7 words now") {
		t.Errorf("%s", r.JSON)
	}
	var names []string
	for _, c := range s.set.Commands() {
		if names = append(names, c.Name); c.Name == "todos" {
			if text, err := c.Run(t.Context(), ""); err != nil || !strings.Contains(text, "a.md:2") {
				t.Errorf("/todos: %q %v", text, err)
			}
		}
		if c.Name == "plugins" {
			if text, err := c.Run(t.Context(), ""); err != nil || !strings.Contains(text, "word_count") {
				t.Errorf("/plugins: %q %v", text, err)
			}
		}
	}
	if !slices.Contains(names, "todos") || !slices.Contains(names, "plugins") {
		t.Error(names)
	}
	sections := s.set.Sections(t.Context())
	if len(sections) != 1 || !strings.Contains(sections[0].Text, "From the plugin todo-finder: todos\n\nIf you leave a TODO comment") {
		t.Errorf("%+v", sections)
	}
	if list, _ := s.tools.Get("word_count"); list.Toolset != "documents" || !list.ReadOnly || !strings.HasPrefix(list.Description, "(plugin word-count) ") {
		t.Errorf("%+v", list)
	}
	if got, _ := s.tools.Get("find_todos"); got.Toolset != "plugin-todo-finder" {
		t.Errorf("%+v", got)
	}
}

// TestPermissions lets a plugin try everything outside its permissions.
func TestPermissions(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	body := tool("probe", `out = {}
def attempt(name, f):
    try:
        out[name] = str(f())
    except Exception as e:
        out[name] = "no: " + type(e).__name__
import socket
ws = args["ws"]
attempt("read", lambda: open(ws + "/a.txt").read())
attempt("write", lambda: open(ws + "/new.txt", "w").write("x"))
attempt("data", lambda: open(os.environ["PLUGIN_DATA"] + "/x", "w").write("x"))
attempt("itself", lambda: open(os.environ["PLUGIN_ROOT"] + "/__init__.py", "a").write("x"))
attempt("config", lambda: open(args["home"] + "/config.yaml").read())
attempt("grants", lambda: open(args["home"] + "/plugins/.grants.json").read())
attempt("net", lambda: socket.create_connection(("127.0.0.1", int(args["port"])), 2))
attempt("env", lambda: os.environ.get("PLUGIN_KEY", "none"))
attempt("tool", lambda: ctx.dispatch_tool("read_file", {}))
return out`)
	for name, c := range map[string]struct{ permissions, want string }{
		"none":  {`{}`, `read=no write=no data=1 itself=no config=no grants=no net=no env=none tool=no`},
		"read":  {`{files: read, env: [PLUGIN_KEY]}`, `read=text write=no data=1 itself=no config=no grants=no net=no env=the key tool=no`},
		"write": {`{files: write, network: true, tools: [read_file]}`, `read=text write=1 data=1 itself=no config=no grants=no net=<socket env=none tool={"content"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.add("p", python(c.permissions, body))
			for file, text := range map[string]string{filepath.Join(b.work, "a.txt"): "text", filepath.Join(b.home, "config.yaml"): "secret"} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			port := listen(t)
			b.enable("p")
			s := b.open()
			var got map[string]string
			answer := s.call("probe", fmt.Sprintf(`{"ws":%q,"home":%q,"port":"%d"}`, b.work, b.home, port))
			if err := json.Unmarshal([]byte(answer), &got); err != nil {
				t.Fatal(answer)
			}
			for _, part := range strings.Split(c.want, " ") {
				field, want, ok := strings.Cut(part, "=")
				if !ok {
					continue // the rest of "the key"
				}
				if !strings.HasPrefix(got[field], want) {
					t.Errorf("%s is %q, want %q", field, got[field], want)
				}
			}
			if len(s.asked) != 1 || !strings.HasPrefix(s.asked[0], "p: probe ") {
				t.Errorf("asked %q", s.asked)
			}
		})
	}
}

// TestStates checks that only plugins with unchanged files since their enabling are loaded.
func TestStates(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	b := newBed(t)
	b.add("good", python(`{}`, tool("hello", `return "hi"`)))
	b.add("changed", python(`{}`, tool("one", `return 1`)))
	b.add("new", python(`{}`, tool("two", `return 1`)))
	b.add("off", python(`{}`, tool("three", `return 1`)))
	b.add("broken", map[string]string{"plugin.yaml": "name: [", "__init__.py": ""})
	b.add("later", python(`{}`, tool("four", `return 1`)))
	b.enable("good", "changed", "off", "later")
	b.settings.Enabled = append(b.settings.Enabled, "new", "broken", "not-there")
	b.settings.Disabled = []string{"off"}
	b.add("changed", map[string]string{"extra.py": ""})
	states := map[string]plugins.State{}
	all, err := plugins.List(b.home, b.settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		states[l.Name] = l.State
	}
	for name, want := range map[string]plugins.State{"good": "enabled", "changed": "changed", "new": "not granted", "off": "disabled", "broken": "failed", "later": "enabled"} {
		if states[name] != want {
			t.Errorf("%s is %s", name, states[name])
		}
	}
	s := b.open()
	s.wants("hello", `{}`, `{"result": "hi"}`)
	if got := len(s.tools.List()); got != 3 {
		t.Errorf("%d tools", got)
	}
	if len(s.notices) != 3 {
		t.Errorf("%q", s.notices)
	}
	b.add("later", map[string]string{"__init__.py": "def register(ctx): raise SystemExit"})
	s.wants("four", `{}`, "its directory has changed since it was enabled; hermes-ls plugin enable later enables it again")

	outside := b.add("link", python(`{}`, tool("five", `return 1`)))
	if err := os.Symlink("/etc/hostname", filepath.Join(outside, "data")); err != nil {
		t.Fatal(err)
	}
	if _, err := plugins.Sum(outside); err == nil || !strings.Contains(err.Error(), "leads out of the directory") {
		t.Errorf("a link: %v", err)
	}
}

// TestEnds checks that a plugin is off after three ends. Calls it would have checked do not run.
func TestEnds(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	b := newBed(t)
	b.add("p", python(`{}`, tool("die", `os._exit(3)`)+"\nctx.register_hook('pre_tool_call', lambda **kw: None)"))
	b.enable("p")
	s := b.open()
	before := func() string {
		out := s.set.Events().BeforeCall(t.Context(), s.env, readFile, tools.Call{ID: "1", Name: "read_file", Args: json.RawMessage(`{}`)})
		if out.Answer == nil {
			return ""
		}
		return string(out.Answer.JSON)
	}
	if text := before(); text != "" {
		t.Fatal(text)
	}
	for range 3 {
		s.wants("die", `{}`, "it ended with exit code 3 during the call")
	}
	if got := s.call("read_file", `{}`); !strings.Contains(got, `read_file was not run: the hook \"p\" failed (it exited three times and is off in this session)`) {
		t.Error(got)
	}
	if got := s.call("die", `{}`); !strings.Contains(got, "was not run") {
		t.Error(got)
	}
}

// TestHostile checks plugins that lie, flood and hang.
func TestHostile(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	script := func(body string) map[string]string {
		return map[string]string{
			"plugin.yaml": "name: p\ncommand: [./run]\nprovides_tools: [a, flood, huge, odd, slow]\n",
			"run": `#!/usr/bin/env bash
tools='{"name":"a"},{"name":"flood"},{"name":"huge"},{"name":"odd"},{"name":"slow"},{"name":"more"}'
while IFS= read -r line; do
  id=$(sed 's/.*"id":\([0-9]*\).*/\1/' <<<"$line")
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
  *'"method":"initialize"'*) echo "hello, I am no message"; answer '{"tools":['"$tools"']}' ;;
  ` + body + `
  *'"method":"cancel"'*) echo cancelled >&2 ;;
  *) answer '"a text"' ;;
  esac
done
`,
		}
	}
	b.add("p", script(`*'"name":"flood"'*) for i in $(seq 20000); do echo "line $i"; done; answer '{"ok":true}' ;;
  *'"name":"huge"'*) head -c 20000000 /dev/zero | tr '\0' x; echo ;;
  *'"name":"odd"'*) echo '{"jsonrpc":"2.0","id":9999,"result":1}'; echo '{"jsonrpc":"2.0","id":77,"method":"tool","params":{"name":"terminal","arguments":{"command":"id"}}}'; answer '[1]' ;;
  *'"name":"slow"'*) echo begun >&2 ;;`))
	b.enable("p")
	s := b.open()
	if _, ok := s.tools.Get("more"); ok {
		t.Error("a tool beyond provides_tools is loaded")
	}
	s.wants("a", `{}`, `{"result":"a text"}`)
	s.wants("flood", `{}`, `"ok":true`)
	s.wants("odd", `{}`, `{"result":[1]}`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.tools.Call(ctx, s.env, tools.Call{ID: "c2", Name: "slow", Args: json.RawMessage(`{}`)})
		done <- err
	}()
	b.logged("p", "begun")
	cancel()
	if err := <-done; err == nil {
		t.Error("a canceled call has a result")
	}
	b.logged("p", "cancelled")
	s.wants("huge", `{}`, "failed")
	s.wants("a", `{}`, `{"result":"a text"}`) // it was started again
	info, err := os.Stat(plugins.LogPath(b.home, "p"))
	if err != nil || info.Size() > 2<<20 || !strings.Contains(b.log("p"), "I am no message") && info.Size() < 1000 {
		t.Errorf("the log: %v", err)
	}
}

// If a plugin stops reading, a cancel still ends its calls, and the end of the session ends the
// plugin. A response without an id ends the only call at once.
func TestDeaf(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.add("p", map[string]string{
		"plugin.yaml": "name: p\ncommand: [./run]\nprovides_tools: [deaf, lost, flood]\n",
		"run": `#!/usr/bin/env bash
while IFS= read -r line; do
  id=$(sed 's/.*"id":\([0-9]*\).*/\1/' <<<"${line:0:1000}")
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case ${line:0:1000} in
  *'"method":"initialize"'*) answer '{"tools":[{"name":"deaf"},{"name":"lost"},{"name":"flood"}]}' ;;
  *'"name":"lost"'*) echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"it was not read"}}' ;;
  *'"name":"flood"'*)
    for i in $(seq 100); do printf '{"jsonrpc":"2.0","id":%s,"method":"tool","params":{"name":"terminal"}}\n' "$i"; done
    for i in $(seq 2000); do echo '{"jsonrpc":"2.0","method":"progress","params":{"text":"more"}}'; done
    answer '"ended"' ;;
  *'"name":"deaf"'*) echo begun >&2; trap "" TERM; while :; do sleep 1; done ;;
  esac
done
`,
	})
	b.enable("p")
	s := b.open()
	var shown atomic.Int32
	s.env.Progress = func(tools.Progress) { shown.Add(1) }
	s.wants("lost", `{}`, "it was not read")
	s.wants("flood", `{}`, "ended")
	if n := shown.Load(); n > 1000 {
		t.Errorf("%d lines of progress were shown", n)
	}
	large, _ := json.Marshal(map[string]string{"text": strings.Repeat("x", 400<<10)})
	done := make(chan error, 3)
	ctx, cancel := context.WithCancel(t.Context())
	call := func(ctx context.Context) {
		_, err := s.tools.Call(ctx, s.env, tools.Call{ID: "c", Name: "deaf", Args: large})
		done <- err
	}
	go call(ctx)
	b.logged("p", "begun")
	go call(ctx)
	go call(t.Context())
	cancel()
	for range 2 {
		if err := <-done; err == nil {
			t.Error("a canceled call has a result")
		}
	}
	if err := s.set.Close(t.Context()); err != nil {
		t.Error(err)
	}
	<-done
}

// TestContext checks ctx of plugins in Python.
func TestContext(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	b := newBed(t)
	b.add("p", python(`{tools: [read_file]}`, strings.Join([]string{
		tool("text_after", `return '{"a": 1} and more'`),
		tool("settings", `return {"v": ctx.get_config("deep.x"), "other": ctx.get_config("no", 5), "can": ctx.has_capability("tool"), "cannot": ctx.has_capability("platform")}`),
		tool("unknown", `ctx.register_platform("x")`),
		"async def later(args, **kw):\n    return {'async': True}\nctx.register_tool(name='later', toolset='mine', schema={'name': 'later', 'description': 'from the schema', 'parameters': {'type': 'object', 'properties': {'x': {'type': 'string'}}}}, handler=later, is_async=True)",
		"ctx.register_tool(name='left_out', toolset='mine', schema={}, handler=later, check_fn=lambda: False)",
		"ctx.register_hook('pre_tool_call', lambda tool_name, args, **kw: {'action': 'modify', 'args': {'x': 'changed'}} if tool_name == 'read_file' else None)",
		"ctx.register_hook('pre_llm_call', lambda user_message, **kw: 'they said ' + user_message)",
		"ctx.register_hook('transform_llm_output', lambda response_text, **kw: response_text.upper())",
		"ctx.register_command('shout', lambda raw: raw.upper(), description='d')",
		"ctx.register_system_prompt_section('s', 'x' * 9000)",
		"ctx.register_system_prompt_section(id='t', content=lambda info: 'y' * 10, position='after_memory', max_chars=20)",
		"ctx.register_hook(hook_name='transform_tool_result', callback=lambda tool_name, result, duration_ms, **kw: result + '\\n\\nmore' if tool_name == 'read_file' else None)",
		"def ended(session_id, completed, interrupted, model, platform, **kw):\n    open(os.environ['HERMES_HOME'] + '/ended', 'w').write(platform)\nctx.register_hook('on_session_end', ended)",
		"def stopped(parent_session_id, child_role, child_summary, child_status, duration_ms, **kw):\n    open(os.environ['HERMES_HOME'] + '/stopped', 'w').write(child_summary)\nctx.register_hook('subagent_stop', stopped)",
		"ctx.register_hook('post_api_request', ended)",
		tool("called", `return {'content': json.loads(ctx.dispatch_tool(tool_name='read_file', args={}))}`),
	}, "\n")))
	b.settings.Entries["p"] = map[string]any{"settings": map[string]any{"deep": map[string]any{"x": 7}}}
	b.enable("p")
	s := b.open()
	s.wants("text_after", `{}`, `{"a": 1, "note": "and more"}`)
	s.wants("settings", `{}`, `"v": 7, "other": 5, "can": true, "cannot": false`)
	s.wants("unknown", `{}`, "hermes-ls has no ctx.register_platform; it has register_tool")
	s.wants("later", `{}`, `"async": true`)
	s.wants("read_file", `{"x":"y"}`, `\"x\":\"changed\"`)
	s.wants("read_file", `{}`, `"note": "more"`)
	s.wants("called", `{}`, "unsaved text of")
	s.set.Events().SubagentStop(t.Context(), extension.SubagentEvent{SessionID: "c", ParentID: "s", Summary: "all is done"})
	s.set.Events().SessionEnd(t.Context(), extension.SessionEvent{SessionID: "s"})
	for name, want := range map[string]string{"ended": "editor", "stopped": "all is done"} {
		if data, err := os.ReadFile(filepath.Join(plugins.Data(b.home, "p"), name)); string(data) != want {
			t.Errorf("%s: %q %v\n%s", name, data, err, b.log("p"))
		}
	}
	if !strings.Contains(b.log("p"), "the event post_api_request does not occur") {
		t.Error("an unknown event is not in the log")
	}
	if _, ok := s.tools.Get("left_out"); ok {
		t.Error("a tool whose check_fn fails is offered")
	}
	added, _, _ := s.set.Events().Prompt(t.Context(), extension.Prompt{Text: "hello"})
	if len(added) != 1 || added[0] != "they said hello" {
		t.Errorf("%q", added)
	}
	if text, _ := s.set.Events().Output(t.Context(), extension.Output{Text: "done"}); text != "DONE" {
		t.Errorf("%q", text)
	}
	if sections := s.set.Sections(t.Context()); len(sections) != 1 || strings.Count(sections[0].Text, "x") > 2100 {
		t.Errorf("%d sections", len(sections))
	}
	for _, c := range s.set.Commands() {
		if c.Name == "shout" {
			if text, err := c.Run(t.Context(), "hey"); text != "HEY" {
				t.Errorf("%q %v", text, err)
			}
		}
	}
}

// TestObserver runs a hook of Hermes' gateway, which only observes.
func TestObserver(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.add("watcher", map[string]string{
		"HOOK.yaml":  "name: watcher\ndescription: d\nevents: [session:start, agent:start]\n",
		"handler.py": "import os\nasync def handle(event, context):\n    open(os.environ['PLUGIN_DATA'] + '/seen', 'a').write(event + '\\n')\n    return {'action': 'block', 'message': 'no'}\n",
	})
	b.enable("watcher")
	s := b.open()
	if _, _, block := s.set.Events().Prompt(t.Context(), extension.Prompt{Text: "x"}); block != "" {
		t.Error(block)
	}
	data, err := os.ReadFile(filepath.Join(plugins.Data(b.home, "watcher"), "seen"))
	if err != nil || string(data) != "agent:start\n" {
		t.Errorf("%q %v\n%s", data, err, b.log("watcher"))
	}
}

// TestNothing checks that a session without plugins starts nothing and reads no directory.
func TestNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.add("p", python(`{}`, tool("x", `return 1`)))
	s := b.open()
	if n := len(s.tools.List()); n != 1 || len(s.set.Events().Compress(t.Context(), extension.Compression{})) > 0 {
		t.Errorf("%d tools", n)
	}
	b.enable("p")
	b.open()
	if _, err := os.Stat(plugins.LogPath(b.home, "p")); err == nil {
		t.Error("a plugin was started without a call") // it would have logged its start or its end
	}
}

// TestInstall installs a plugin from a git repository, and keeps edited files.
func TestInstall(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	repository := filepath.Join(t.TempDir(), "greeter")
	source := newBed(t)
	dir := source.add("greeter", python(`{}`, tool("greet", `return "hi"`)))
	if err := os.Rename(dir, repository); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		run(t, append([]string{"git", "-C", repository, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	fetch := func() plugins.Candidate {
		t.Helper()
		c, err := plugins.Fetch(t.Context(), b.home, skills.At("file://"+repository), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Discard)
		return c
	}
	c := fetch()
	if len(c.Commit) != 40 || c.Name != "greeter" {
		t.Errorf("%+v", c)
	}
	installed, err := plugins.Install(t.Context(), b.home, c)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := plugins.List(b.home, b.settings); err != nil || len(all) != 1 || all[0].State != plugins.Disabled {
		t.Errorf("%+v %v", all, err)
	}
	if _, err := plugins.Install(t.Context(), b.home, fetch()); err != nil {
		t.Errorf("an unchanged plugin: %v", err)
	}
	if err := os.WriteFile(filepath.Join(installed, "mine.py"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := plugins.Install(t.Context(), b.home, fetch()); err == nil || !strings.Contains(err.Error(), "was edited here") {
		t.Errorf("an edited plugin: %v", err)
	}
	if err := plugins.Uninstall(t.Context(), b.home, "greeter"); err != nil {
		t.Fatal(err)
	}
	if all, _ := plugins.List(b.home, b.settings); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// TestManifest checks which manifests are valid.
func TestManifest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"name: p\n": "",
		"name: p\nunknown: 1\nkind: standalone\nrequires_env: [A, {name: B, prompt: x}]\n": "",
		"name: p\npermissions: {files: all}\n":                                             "none, read or write",
		"name: p\nmanifest_version: 2\n":                                                   "manifest_version is 2",
		"name: p\nrequires_env: ['A=B']\n":                                                 "not the name of a variable",
		"a: [":                                                                             "plugin.yaml",
	} {
		b := newBed(t)
		dir := b.add("p", map[string]string{"plugin.yaml": text, "__init__.py": ""})
		p, err := plugins.Load(dir)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && p.Permissions.Files != plugins.None {
			t.Errorf("%q: files %q", text, p.Permissions.Files)
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := newBed(t).add("p", map[string]string{"plugin.yaml": "name: p\ncommand: [~/no/such/program, --config=~/x]\n"})
	if problems, _ := plugins.Validate(dir); len(problems) != 1 || !strings.Contains(problems[0], home+"/no/such/program") {
		t.Errorf("~ in a command: %q", problems)
	}
}

// FuzzManifest reads any manifest.
func FuzzManifest(f *testing.F) {
	f.Add("name: p\npermissions: {files: read, tools: [a]}\ncommand: ./x\n")
	f.Add("requires_env: [{name: 1}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := filepath.Join(t.TempDir(), "p")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := plugins.Load(dir)
		if err == nil && p.Kind == "" {
			t.Error("a plugin without a kind")
		}
	})
}

func listen(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// TestSkills checks which directories skills of plugins come from.
func TestSkills(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.add("kit", map[string]string{"plugin.json": `{"name":"kit","version":"1.0.0"}`, "skills/one/SKILL.md": "---\nname: one\ndescription: d\n---\nx\n"})
	b.add("code", python(`{}`, "ctx.register_skill('two', 'skills/two')"))
	b.add("other", python(`{}`, tool("x", `return 1`)))
	b.enable("code", "other")
	sum, err := plugins.Sum(filepath.Join(plugins.Dir(b.home), "kit"))
	if err != nil {
		t.Fatal(err)
	}
	if err := plugins.SaveGrant(t.Context(), b.home, "kit", plugins.Grant{Sum: sum}); err != nil {
		t.Fatal(err)
	}
	b.settings.Enabled = append(b.settings.Enabled, "kit")
	dirs := plugins.SkillDirs(b.home, b.settings)
	if len(dirs) != 2 || dirs["kit"] != filepath.Join(plugins.Dir(b.home), "kit", "skills") || dirs["code"] != filepath.Join(plugins.Dir(b.home), "code") {
		t.Errorf("%v", dirs)
	}
	b.add("kit", map[string]string{"skills/two/SKILL.md": "changed"})
	if dirs := plugins.SkillDirs(b.home, b.settings); dirs["kit"] != "" {
		t.Error("skills of a changed plugin are used")
	}
}

// TestAgentServers checks which servers of mcp.json are used.
func TestAgentServers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const schema = `"$schema":"https://agent-plugins.org/schemas/1.0.0/`
	for _, c := range []struct{ entry, problem string }{
		{`{"type":"stdio","command":"./bin/x","args":["a"],"env":{"A":"b"},"cwd":"./data"}`, ""},
		{`{"type":"stdio","command":"npx","cwd":"${PLUGIN_DATA}/x"}`, ""},
		{`{"command":"npx"}`, ""},
		{`{"type":"streamable-http","url":"https://example.com/mcp","headers":{"X-A":"b"}}`, ""},
		{`{"type":"sse","url":"http://127.0.0.1:1/sse"}`, ""},
		{`{"type":"http","url":"https://example.com/mcp"}`, "its type is"},
		{`{"type":"stdio","command":"../bin/x"}`, "neither the name"},
		{`{"type":"stdio","command":"./../x"}`, "neither the name"},
		{`{"type":"stdio","command":"/bin/sh"}`, "neither the name"},
		{`{"type":"stdio","command":"x","cwd":"data"}`, "its cwd"},
		{`{"type":"stdio","command":"x","cwd":"./../x"}`, "its cwd"},
		{`{"type":"stdio","command":"x","cwd":"${PLUGIN_ROOT}x"}`, "its cwd"},
		{`{"type":"stdio","command":"x","env":{"Plugin_Root":"/"}}`, "sets the variable"},
		{`{"type":"stdio","command":"x","url":"https://example.com"}`, "neither url"},
		{`{"type":"stdio","command":"x","disabled":true}`, "unknown field"},
		{`{"type":"sse","url":"http://example.com/sse"}`, "not https"},
		{`{"type":"sse","url":"https://user@example.com/sse"}`, "without user"},
		{`{"type":"sse","url":"https://example.com/","headers":{"A":"1","a":"2"}}`, "two headers"},
		{`7`, "cannot unmarshal"},
	} {
		b.add("kit", map[string]string{"plugin.json": `{` + schema + `plugin.schema.json","name":"kit"}`, "mcp.json": `{` + schema + `mcp.schema.json","mcpServers":{"one":` + c.entry + `}}`})
		p, err := plugins.Load(filepath.Join(plugins.Dir(b.home), "kit"))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(p.Contents(), "; ")
		if c.problem == "" && !strings.HasPrefix(text, "MCP server one: ") || !strings.Contains(text, c.problem) {
			t.Errorf("%s: %s", c.entry, text)
		}
	}
	for manifest, problem := range map[string]string{
		`{"name":"kit"}`: "", `{` + schema + `plugin.schema.json","name":"kit.two-3","extensions":7}`: "",
		`{"$schema":"https://agent-plugins.org/schemas/9.0.0/plugin.schema.json","name":"kit"}`: "$schema", `{"name":"Kit"}`: "lowercase", `{"name":"a--b"}`: "lowercase",
		`{"name":"kit","extensions":{"io.github.hermes-ls":{"permissions":{"files":"all"}}}}`: "permissions.files",
	} {
		b.add("kit", map[string]string{"plugin.json": manifest})
		if _, err := plugins.Load(filepath.Join(plugins.Dir(b.home), "kit")); (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", manifest, err)
		}
	}
}

// TestAgentHooks checks which hooks of hooks.json are used.
func TestAgentHooks(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for text, want := range map[string]string{
		`{"pre_tool_call":[{"command":"./a b"}]}`: "hook pre_tool_call: ./a b",
		`{"description":"x","hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"a"}]}]}}`: "hook pre_tool_call: a",
		`{"hooks":{"Notification":[{"hooks":[{"type":"command","command":"a"}]}]}}`:                                  `"Notification" is not an event`,
		`{"hooks":{"Stop":[{"hooks":[{"type":"prompt","prompt":"a"}]}]}}`:                                            `of type "prompt" does not run`,
		`{"Stop":[{"command":"a 'b"}]}`:                      "ERROR hooks.json: hooks.Stop, hook 1",
		"{ // mine\n\"Stop\":[{\"command\":\"a //b\"},],\n}": ": a //b",
		`[]`: "ERROR hooks.json: line 1: json",
	} {
		b.add("kit", map[string]string{"plugin.json": `{"name":"kit"}`, "io.github.hermes-ls/hooks.json": text})
		p, err := plugins.Load(filepath.Join(plugins.Dir(b.home), "kit"))
		got := strings.Join(p.Contents(), "; ")
		if err != nil {
			got = "ERROR " + err.Error()
		}
		if !strings.Contains(got, want) || err == nil && strings.Contains(got, "ERROR") {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestWiden checks permissions added by the user.
func TestWiden(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.add("p", python(`{files: read, env: [A]}`, tool("x", `return 1`)))
	b.enable("p")
	state := func() plugins.Listed {
		all, err := plugins.List(b.home, b.settings)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	if l := state(); l.State != plugins.Enabled {
		t.Errorf("%s", l.State)
	}
	b.settings.Entries["p"] = map[string]any{"permissions": map[string]any{"files": "none", "network": true, "env": []string{"A", "B"}}}
	if l := state(); l.State != plugins.Changed || l.Permissions.Files != plugins.Read || !l.Permissions.Network || !slices.Equal(l.Permissions.Env, []string{"A", "B"}) {
		t.Errorf("%s %+v", l.State, l.Permissions)
	}
}

// TestCause checks which parts of a program's last output an error contains.
func TestCause(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for body, want := range map[string]string{
		`echo "file://$PWD/plugin.ts:5" >&2; echo "  x y" >&2; echo "SyntaxError: Unexpected identifier" >&2; echo "Node.js v24" >&2`: "exit code 3 during the call: plugin.ts:5: SyntaxError: Unexpected identifier",
		`echo "panic: no value" >&2; echo "goroutine 1 [running]:" >&2; echo "	$PWD/main.go:12 +0x1d" >&2`:                            "exit code 3 during the call: main.go:12: panic: no value",
		`echo "$PWD/run: line 7: nope: command not found" >&2`:                                                                        "exit code 3 during the call: run: line 7: nope: command not found",
		`true`: "exit code 3 during the call",
	} {
		b.add("p", map[string]string{"plugin.yaml": "name: p\ncommand: [./run]\n", "run": "#!/bin/sh\n" + body + "\nexit 3\n"})
		p, err := plugins.Load(filepath.Join(plugins.Dir(b.home), "p"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plugins.Initialize(t.Context(), b.options, p, nil, getenv); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	b.add("p", map[string]string{"plugin.yaml": "name: p\npermissions: 7\n"})
	if _, err := plugins.Load(filepath.Join(plugins.Dir(b.home), "p")); err == nil || !strings.HasPrefix(err.Error(), "plugin.yaml:2: ") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

// A plugin may take long to initialize if it works, and has five seconds if it does not.
func TestSlowInitialize(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	b := newBed(t)
	for _, c := range []struct{ name, body, want string }{
		{"works", `end=$(($(date +%s)+9)); while [ $(date +%s) -lt $end ]; do :; done; read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; cat >/dev/null`, ""},
		{"waits for nothing", `sleep 1000`, "no answer to initialize, and no work on it for 5s"},
	} {
		b.add("p", map[string]string{"plugin.yaml": "name: p\ncommand: [./run]\n", "run": "#!/bin/sh\n" + c.body + "\n"})
		p, err := plugins.Load(filepath.Join(plugins.Dir(b.home), "p"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = plugins.Initialize(t.Context(), b.options, p, nil, getenv)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
