package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// A program that only a profile adds to PATH runs everywhere: as a command, in a script, as a hook
// and as an MCP server.
func TestProfileAppliesToAllPrograms(t *testing.T) {
	bash := testneed.Program(t, "bash", "")
	home, root := t.TempDir(), t.TempDir()
	bin := filepath.Join(home, "apart/bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".profile":      "PATH=\"$HOME/apart/bin:$PATH\"\n",
		"apart/bin/tea": "#!/bin/sh\n[ $1 = hook ] || echo \"tea $1\"; echo \"$1\" >> " + home + "/log\n",
		"config.yaml":   "sandbox: {mode: 'off'}\nhooks: {pre_tool_call: [{command: tea hook}]}\nmcp_servers: {kettle: {command: tea, args: [server]}}\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("SHELL", bash)
	t.Setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
	m := fakemodel.Script(
		func(x *fakemodel.Exchange) { x.Call("1", "terminal", `{"command":"tea command"}`); x.End() },
		func(x *fakemodel.Exchange) {
			x.Call("2", "execute_code", `{"code":"import subprocess\nprint(subprocess.run(['tea', 'script'], capture_output=True, text=True).stdout)"}`)
			x.End()
		},
		func(x *fakemodel.Exchange) { x.Call("3", "terminal", `{"command":"notea"}`); x.End() },
		says("Done."))
	s := app.New(server.Options{Home: home, Model: m})
	defer func() { _ = s.Close() }()
	x, err := s.NewSession(t.Context(), server.Place{Cwd: root, Preset: "acp"}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "go"}, nil); err != nil {
		t.Fatal(err)
	}
	sent, err := json.Marshal(m.Requests()[3].Messages)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tea command", "tea script", "and of the login shell " + bash} {
		if !strings.Contains(string(sent), want) {
			t.Errorf("no result has %q: %s\n%s", want, s.PathFrom(), sent)
		}
	}
	log, err := os.ReadFile(filepath.Join(home, "log"))
	for _, want := range []string{"command\n", "script\n", "hook\n", "server\n"} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log lacks %q: %q %v", want, log, err)
		}
	}
}
