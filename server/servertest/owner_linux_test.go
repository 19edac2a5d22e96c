package servertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/extensions/plugins"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// plan lists the actions of the user, the agent and another program on an open file.
type plan struct {
	Careful bool // each edit asks
	Hook    bool // the first call of each turn waits for a hook
	Slow    bool // the editor takes 2 s for each answer
	Real    bool // it is played in real time, with the tools that need it
	Turns   []turnPlan
	Undo    bool // the last turn is undone before all is reverted
}

type turnPlan struct {
	Before  []string // actions of the user before the prompt
	InHook  []string // and while the hook of the first call runs
	Calls   []callPlan
	Answers []answerPlan // to the approval requests, in their order
}

// callPlan is a call of the model. A script waits in real time for edits that an editor makes, so plans
// in virtual time have none, nor plugins.
type callPlan struct {
	Tool     string   // see inVirtualTime and inRealTime
	After    int      // it adds a line after this line
	SameTime bool     // it is in a response with the call before, and waits for its end
	Waits    []string // actions of the user while the second subagent of a batch waits for its slot
}

var (
	// A risky command requires approval. A subagent patches.
	inVirtualTime = []string{"patch", "command", "risky", "subagent"}
	// A script calls patch, or writes the file without a tool. A plugin writes the file; each call requires
	// approval. In a batch, one subagent reads and the next one patches.
	inRealTime = []string{"patch", "command", "script", "script writes", "plugin", "batch"}
)

type answerPlan struct {
	First []string // actions of the user while the request is open
	Allow bool
}

func plans(t *rapid.T, real bool) (p plan) {
	p.Careful, p.Hook, p.Undo = rapid.Bool().Draw(t, "careful"), rapid.Bool().Draw(t, "hook"), rapid.Bool().Draw(t, "undo")
	kinds := inVirtualTime
	if p.Real = real; real {
		kinds = inRealTime
	} else {
		p.Slow = rapid.Bool().Draw(t, "slow")
	}
	acts := rapid.SliceOfN(rapid.SampledFrom([]string{"type", "save", "save early", "outside", "reload"}), 0, 3)
	asked := acts
	if real && p.Careful { // an edit of a script asks while the script runs, which other programs are not told from
		asked = rapid.SliceOfN(rapid.SampledFrom([]string{"type", "save", "save early"}), 0, 3)
	}
	for range rapid.IntRange(1, 3).Draw(t, "turns") {
		turn := turnPlan{Before: acts.Draw(t, "before")}
		if p.Hook {
			turn.InHook = acts.Draw(t, "in hook")
		}
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			tool := rapid.SampledFrom(kinds).Draw(t, "tool")
			call := callPlan{Tool: tool, After: rapid.IntRange(1, 6).Draw(t, "after"), SameTime: rapid.Bool().Draw(t, "same time")}
			if tool == "batch" {
				call.Waits = acts.Draw(t, "waits")
			}
			turn.Calls = append(turn.Calls, call)
			turn.Answers = append(turn.Answers, answerPlan{asked.Draw(t, "first"), rapid.Bool().Draw(t, "allow")})
		}
		p.Turns = append(p.Turns, turn)
	}
	return p
}

// owned plays a plan with an editor.
type owned struct {
	*servertest.Editor
	t       *testing.T
	agent   bool // the editor speaks the Agent Client Protocol only
	session string
	gate    string // a directory: the hook has begun, and may go on

	mu        sync.Mutex
	lines     int
	users     []string // the lines of the user
	asks      []answerPlan
	responses []func(*fakemodel.Exchange)
	log       []string
}

const ownedFile = "f.txt"

func (o *owned) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, fmt.Sprintf(format, args...))
}

// next returns a new line.
func (o *owned) next(owner string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines++
	line := fmt.Sprint(owner, o.lines)
	if owner == "user" {
		o.users = append(o.users, line)
	}
	return line
}

func (o *owned) path() string { return filepath.Join(o.Root, ownedFile) }

func (o *owned) disk() string { return contentOf(o.t, o.path()) }

// pause waits in real time, which the stamps of files have.
func pause() { _ = unix.Nanosleep(&unix.Timespec{Nsec: 15e6}, nil) }

// acts performs the actions of the user and another program.
func (o *owned) acts(when string, acts []string) {
	for _, act := range acts {
		pause()
		switch act {
		case "type":
			o.Edit(ownedFile, "o3\n", "o3\n"+o.next("user")+"\n")
		case "save":
			if o.Unsaved(ownedFile) && !o.Behind(ownedFile) { // else an editor asks
				o.Save(ownedFile)
			}
		case "save early":
			if !o.Behind(ownedFile) && !o.Unsaved(ownedFile) {
				o.SaveEarly(ownedFile, "o2\n", "o2\n"+o.next("user")+"\n")
			}
		case "outside":
			text := strings.Replace(o.disk(), "o5\n", "o5\n"+o.next("user")+"\n", 1)
			if err := os.WriteFile(o.path(), []byte(text), 0o644); err != nil {
				o.t.Error(err)
			}
		case "reload":
			o.Reload(ownedFile)
		}
		pause()
		o.note("%s, %s: the editor has %q, the disk %q", when, act, o.Text(ownedFile), o.disk())
	}
}

// answer is the user's answer to an approval request, or before lines of the user would be lost.
func (o *owned) answer(q servertest.Question) string {
	o.note("asked: %.40q", q.Message)
	o.mu.Lock()
	if len(o.asks) == 0 {
		o.mu.Unlock()
		return "no"
	}
	a := o.asks[0]
	o.asks = o.asks[1:]
	o.mu.Unlock()
	o.acts("asked", a.First)
	if a.Allow {
		return "once"
	}
	return "no"
}

// plays sets the responses of the model and the answers of the user for a turn.
func (o *owned) plays(p plan, turn turnPlan) {
	queue := []func(*fakemodel.Exchange){}
	for i, c := range turn.Calls {
		line := o.next("agent")
		patch := func(x *fakemodel.Exchange) {
			x.Call(line, "patch", fmt.Sprintf(`{"path":%q,"old_string":"o%d\n","new_string":"o%d\n%s\n"}`, ownedFile, c.After, c.After, line))
		}
		call := func(x *fakemodel.Exchange) {
			switch c.Tool {
			case "patch":
				patch(x)
				return
			case "subagent":
				x.Call("task "+line, "delegate_task", `{"goal":"Add a line","toolsets":["file"]}`)
				return
			case "batch":
				x.Call("tasks "+line, "delegate_task", `{"tasks":[{"goal":"Read","toolsets":["file"]},{"goal":"Add a line","toolsets":["file"]}]}`)
				return
			case "script":
				x.Call(line, "execute_code", jsonOf(map[string]string{"code": fmt.Sprintf(
					"from hermes_tools import patch\nprint(patch(path=%q, old_string='o%d\\n', new_string='o%d\\n%s\\n'))", ownedFile, c.After, c.After, line)}))
				return
			case "script writes":
				x.Call(line, "execute_code", jsonOf(map[string]string{"code": fmt.Sprintf(
					"text = open(%q).read()\nopen(%q, 'w').write(text.replace('o%d\\n', 'o%d\\n%s\\n'))", ownedFile, ownedFile, c.After, c.After, line)}))
				return
			case "plugin":
				x.Call(line, "add_line", jsonOf(map[string]string{"path": o.path(), "after": fmt.Sprintf("o%d\n", c.After), "line": line + "\n"}))
				return
			}
			command := fmt.Sprintf("sed -i '/^o%d$/a %s' %s", c.After, line, ownedFile)
			if c.Tool == "risky" {
				command = "rm -rf build; " + command
			}
			x.Call(line, "terminal", jsonOf(map[string]string{"command": command}))
		}
		if c.Tool == "batch" { // one subagent works at a time
			queue = append(queue, call, func(x *fakemodel.Exchange) {
				o.acts("while a slot is waited for", c.Waits)
				x.Text("Read.")
			}, patch, func(x *fakemodel.Exchange) { x.Text("Added.") })
			continue
		}
		if c.Tool == "subagent" { // its requests follow
			queue = append(queue, call, patch, func(x *fakemodel.Exchange) { x.Text("Added.") })
			continue
		}
		if i > 0 && c.SameTime && turn.Calls[i-1].Tool != "subagent" && turn.Calls[i-1].Tool != "batch" {
			first := queue[len(queue)-1]
			queue[len(queue)-1] = func(x *fakemodel.Exchange) { first(x); call(x) }
			continue
		}
		queue = append(queue, call)
	}
	if p.Hook {
		first := queue[0]
		queue[0] = func(x *fakemodel.Exchange) {
			first(x)
			go o.inHook(turn.InHook)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.responses = append(queue, func(x *fakemodel.Exchange) { x.Text("Done.") })
	o.asks = turn.Answers
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// inHook acts while the first hook of a turn runs. It waits in real time, as the hook does.
func (o *owned) inHook(acts []string) {
	for range 4000 {
		if _, err := os.Stat(filepath.Join(o.gate, "begun")); err == nil {
			o.acts("in the hook", acts)
			break
		}
		pause()
	}
	if err := os.WriteFile(filepath.Join(o.gate, "go"), nil, 0o600); err != nil {
		o.t.Error(err)
	}
}

// answers is the model.
func (o *owned) answers(x *fakemodel.Exchange) {
	o.mu.Lock()
	if len(o.responses) == 0 {
		o.mu.Unlock()
		x.Text("Nothing is left.")
		return
	}
	next := o.responses[0]
	o.responses = o.responses[1:]
	o.mu.Unlock()
	next(x)
}

const gateHook = `#!/bin/sh
cat > /dev/null
touch GATE/begun
while [ ! -e GATE/go ]; do sleep 0.01; done
`

// begin starts the server and opens the file.
func begin(t *testing.T, agent bool, p plan) *owned {
	o := &owned{t: t, agent: agent, gate: t.TempDir()}
	mode := "ask"
	if p.Careful {
		mode = "careful"
	}
	config := "approvals: {mode: " + mode + "}\n"
	home := filepath.Join(t.TempDir(), "home")
	if p.Real {
		config += "delegation: {max_concurrent_children: 1}\nplugins: {enabled: [adder]}\n"
		addPlugin(t, home)
	}
	if p.Hook {
		hook := filepath.Join(o.gate, "hook")
		if err := os.WriteFile(hook, []byte(strings.ReplaceAll(gateHook, "GATE", o.gate)), 0o700); err != nil {
			t.Fatal(err)
		}
		config += "hooks:\n  pre_tool_call:\n    - command: " + hook + "\n"
	}
	slow := time.Duration(0)
	if p.Slow {
		slow = 2 * time.Second
	}
	o.Editor = servertest.New(t, servertest.Options{
		Agent: agent, Slow: slow, Home: home, Config: config, Model: fakemodel.Func(o.answers), Files: map[string]string{ownedFile: "o1\no2\no3\no4\no5\no6\n"},
	})
	o.Choose(o.answer)
	pause()
	o.Open(ownedFile)
	if agent {
		var made acp.NewSessionResponse
		o.calls(acp.MethodSessionNew, acp.NewSessionRequest{Cwd: o.Root, MCPServers: []acp.MCPServer{}}, &made)
		o.session = made.SessionID
	}
	// Over the Agent Client Protocol, an editor does not report whether an unread document is
	// saved.
	o.responses = []func(*fakemodel.Exchange){
		func(x *fakemodel.Exchange) { x.Call("read", "read_file", fmt.Sprintf(`{"path":%q}`, ownedFile)) },
		func(x *fakemodel.Exchange) { x.Text("Read.") },
	}
	if err := os.WriteFile(filepath.Join(o.gate, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.prompt("read")
	return o
}

// adder is a plugin that adds a line to a file.
const adder = `def register(ctx):
    def add_line(args, **kw):
        text = open(args["path"]).read()
        open(args["path"], "w").write(text.replace(args["after"], args["after"] + args["line"]))
        return "added"
    ctx.register_tool(name="add_line", toolset="adder", schema={"type": "object", "properties": {}}, handler=add_line, description="Adds a line")
`

// addPlugin installs and enables adder.
func addPlugin(t *testing.T, home string) {
	t.Helper()
	dir := filepath.Join(plugins.Dir(home), "adder")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plugin.yaml": "name: adder\nversion: 1.0.0\ndescription: Adds lines\npermissions: {files: write}\n", "__init__.py": adder} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := plugins.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := plugins.Sum(dir)
	if err != nil {
		t.Fatal(err)
	}
	options := plugins.Options{Home: home, Environ: func(context.Context, []string) []string { return os.Environ() }}
	offer, err := plugins.Initialize(t.Context(), options, p, nil, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := plugins.SaveGrant(t.Context(), home, "adder", plugins.Grant{Sum: sum, Offer: offer, Permissions: p.Permissions}); err != nil {
		t.Fatal(err)
	}
}

// calls sends a request that must succeed.
func (o *owned) calls(method string, params, result any) {
	o.t.Helper()
	raw, err := o.Call(method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(raw, result)
	}
	if err != nil {
		o.t.Fatalf("%s: %v", method, err)
	}
}

func (o *owned) prompt(text string) {
	o.t.Helper()
	if !o.agent {
		o.Ask(text)
		return
	}
	o.calls(acp.MethodSessionPrompt, acp.PromptRequest{SessionID: o.session, Prompt: []acp.ContentBlock{acp.Text(text)}}, nil)
}

// checkpoint runs a command of the checkpoints over either protocol.
func (o *owned) checkpoint(command, method, id string, result any) {
	o.t.Helper()
	args := protocol.CheckpointArgs{SessionID: o.session, CheckpointID: id}
	if o.agent {
		o.calls(method, args, result)
	} else if err := o.Command(command, args, result); err != nil {
		o.t.Fatalf("%s: %v", command, err)
	}
}

// turn plays a turn. It lists a change if and only if the agent has added lines.
func (o *owned) turn(p plan, turn turnPlan) {
	o.acts("before", turn.Before)
	for _, name := range []string{"begun", "go"} {
		_ = os.Remove(filepath.Join(o.gate, name))
	}
	o.plays(p, turn)
	before := o.Text(ownedFile) + o.disk()
	var list protocol.CheckpointListResult
	o.checkpoint(protocol.CommandCheckpoints, acp.MethodCheckpointList, "", &list)
	was := len(list.Checkpoints)
	o.prompt("turn")
	pause()
	after := o.Text(ownedFile) + o.disk()
	o.checkpoint(protocol.CommandCheckpoints, acp.MethodCheckpointList, "", &list)
	made := false
	for line := range strings.Lines(after) {
		made = made || strings.HasPrefix(line, "agent") && !strings.Contains(before, line)
	}
	o.note("the turn: the editor has %q, the disk %q, %d checkpoints", o.Text(ownedFile), o.disk(), len(list.Checkpoints))
	if listed := len(list.Checkpoints) > was; listed != made {
		o.t.Errorf("the agent has added lines: %v, and the turn lists a change: %v", made, listed)
	}
}

// TestEachLineKeepsItsOwner plays random plans over both protocols. The user types and saves,
// another program writes, tools and commands add lines, and approvals are given and denied. Hooks
// and earlier calls are waited for, subagents edit or wait for a slot, scripts and plugins write, and turns are undone and reverted. No line of
// the user is ever lost. A turn without a change of the agent lists none. After all is reverted, no
// line of the agent is left, unless the file is named as kept.
func TestEachLineKeepsItsOwner(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]bool{"lsp": false, "acp": true} {
		for _, real := range []bool{false, true} {
			if real {
				name += " in real time"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				playRandom(t, agent, real)
			})
		}
	}
}

func playRandom(t *testing.T, agent, real bool) {
	played, failed := 0, false
	cases := testneed.Cases(20, 5)
	if real {
		cases = testneed.Cases(8, 2)
	}
	rapid.Check(t, func(rt *rapid.T) {
		if played++; played > cases && !failed {
			return
		}
		p := plans(rt, real)
		var log []string
		t.Run("plan", func(t *testing.T) {
			run := func(t *testing.T) {
				log = play(t, agent, p)
				failed = t.Failed()
			}
			if real {
				run(t)
			} else {
				synctest.Test(t, run)
			}
		})
		if failed {
			rt.Fatalf("%+v:\n%s", p, strings.Join(log, "\n"))
		}
	})
}

func play(t *testing.T, agent bool, p plan) []string {
	o := begin(t, agent, p)
	for _, turn := range p.Turns {
		o.turn(p, turn)
		o.noneLost("after a turn")
	}
	o.mu.Lock()
	o.asks = nil
	o.mu.Unlock()
	if p.Undo {
		o.prompt("/undo")
		o.noneLost("after /undo")
	}
	var list protocol.CheckpointListResult
	o.checkpoint(protocol.CommandCheckpoints, acp.MethodCheckpointList, "", &list)
	if len(list.Checkpoints) == 0 {
		return o.log
	}
	var out protocol.RestoreResult
	o.checkpoint(protocol.CommandRestore, acp.MethodCheckpointRestore, list.Checkpoints[len(list.Checkpoints)-1].ID, &out)
	o.note("restored %q, kept %q: the editor has %q, the disk %q", out.Restored, out.Kept, o.Text(ownedFile), o.disk())
	o.noneLost("after the restore")
	o.acts("after the restore", []string{"reload", "save"})
	text := o.Text(ownedFile)
	if !o.Unsaved(ownedFile) {
		text += o.disk()
	}
	if strings.Contains(text, "agent") && !slices.Contains(out.Kept, ownedFile) {
		t.Error("a line of the agent is left")
	}
	return o.log
}

func (o *owned) noneLost(when string) {
	text := o.Text(ownedFile) + o.disk()
	for _, line := range o.users {
		if !strings.Contains(text, line+"\n") {
			o.t.Errorf("%s: the user's line %s is lost", when, line)
		}
	}
}
