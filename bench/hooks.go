package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
	"github.com/hermes-ls/hermes-ls/extensions/plugins"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/tools"
)

// hookOverhead measures the cost of hooks for a tool call, in this process.
func hookOverhead(l *lab) ([]row, error) {
	none, err := l.beforeCalls(100_000, 0)
	if err != nil {
		return nil, err
	}
	shell, err := l.beforeCalls(51, 40*time.Millisecond, hooks.New(app.HookOptions(l.home)))
	if err != nil {
		return nil, err
	}
	program, err := median(51, func() (time.Duration, error) {
		began := time.Now()
		c := exec.Command(l.echo, "hook")
		c.Stdin = strings.NewReader(hookPayload)
		err := c.Run()
		return time.Since(began), err
	})
	if err != nil {
		return nil, err
	}
	if err := l.addPlugin(); err != nil {
		return nil, err
	}
	plugin, err := l.beforeCalls(501, 0, plugins.New(app.PluginOptions(l.home)))
	if err != nil {
		return nil, err
	}
	own, err := l.roundTrip()
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "tool call without a hook: dispatch", value: us(none), unit: "µs", goal: "≤ 1 µs"},
		{what: "tool call with a shell hook", value: ms(shell), unit: "ms", floor: ms(program), floorName: "its program", goal: "≤ 6 ms more"},
		{what: "tool call with a plugin's hook", value: ms(plugin), unit: "ms", floor: ms(own), floorName: "its program, by pipes", goal: "≤ 0.2 ms more"},
	}, nil
}

const hookPayload = `{"hook_event_name":"pre_tool_call","tool_name":"read_file","tool_input":{"path":"a.txt"},"session_id":"s","cwd":"/","transcript_path":"","extra":{}}` + "\n"

// beforeCalls returns the median time of the functions before a call, in a session with extensions.
// The calls of a model have pauses between them.
func (l *lab) beforeCalls(n int, pause time.Duration, list ...extension.Extension) (time.Duration, error) {
	ctx := context.Background()
	all, problems := hooks.Parse(map[string]any{"pre_tool_call": []any{map[string]any{"command": fmt.Sprintf("%q hook", l.echo)}}})
	if len(problems) > 0 {
		return 0, problems[0]
	}
	set, err := extension.Open(ctx, list, func(name string) *extension.Session {
		return &extension.Session{
			ID: "s", Name: name, Cwd: l.cwd, Folders: func() []string { return []string{l.cwd} }, Emit: func(extension.Event) {},
			Config: func(into any) error {
				switch into := into.(type) {
				case *[]hooks.Hook:
					*into = all
				case *plugins.Config:
					*into = plugins.Config{Settings: plugins.Settings{Enabled: []string{"bench"}}, Getenv: func(string) string { return "" }}
				}
				return nil
			},
		}
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = set.Close(ctx) }() // its programs end with this process
	tool := tools.Tool{Name: "read_file", Toolset: "files", ReadOnly: true}
	one := func() error {
		if a := set.Events().BeforeCall(ctx, &tools.Env{SessionID: "s"}, tool, tools.Call{ID: "c", Name: tool.Name, Args: json.RawMessage(`{"path":"a.txt"}`)}); a.Answer != nil {
			return fmt.Errorf("a hook answers %s", a.Answer.JSON)
		}
		return nil
	}
	if len(list) > 0 {
		if err := one(); err != nil { // starts the lasting parts
			return 0, err
		}
		return median(n, func() (time.Duration, error) {
			time.Sleep(pause)
			began := time.Now()
			err := one()
			return time.Since(began), err
		})
	}
	began := time.Now()
	for range n {
		if err := one(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}

// addPlugin enables a plugin with a hook.
func (l *lab) addPlugin() error {
	dir := filepath.Join(plugins.Dir(l.home), "bench")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	program, err := os.ReadFile(l.echo)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "echo"), program, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte("name: bench\ncommand: [./echo, plugin]\n"), 0o644)
	}
	if err != nil {
		return err
	}
	p, err := plugins.Load(dir)
	if err != nil {
		return err
	}
	sum, err := plugins.Sum(dir)
	if err != nil {
		return err
	}
	return plugins.SaveGrant(context.Background(), l.home, "bench", plugins.Grant{Sum: sum, Permissions: p.Permissions, Offer: plugins.Offer{Hooks: []string{"pre_tool_call"}}})
}

// roundTrip returns the time of a request to the plugin's program by pipes.
func (l *lab) roundTrip() (time.Duration, error) {
	c := exec.Command(l.echo, "plugin")
	in, err := c.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	defer func() { in.Close(); _ = c.Wait() }() // it ends without input
	request := bytes.NewBufferString(`{"jsonrpc":"2.0","id":1,"method":"hook","params":{"event":"pre_tool_call","payload":`)
	request.WriteString(strings.TrimSpace(hookPayload) + "}}\n")
	lines := bufio.NewReader(out)
	return median(501, func() (time.Duration, error) {
		began := time.Now()
		_, err := in.Write(request.Bytes())
		if err == nil {
			_, err = lines.ReadBytes('\n')
		}
		return time.Since(began), err
	})
}
