//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Titles, approval requests, hooks and exports name the tool of the server, and not tool_call. The model calls it by
// tool_call, by its own name, and in a script.
func TestDeferredToolNames(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": ""})
	s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	for _, name := range []string{"look", "change"} {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "Works on notes.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: name == "look"}},
			deferredTool(name))
	}
	log := filepath.Join(filepath.Dir(b.home), "hooks.log")
	hook := filepath.Join(b.home, "log-call")
	writeScript(t, hook, "cat >> "+log+"\necho >> "+log+"\n")
	u := newUserLine(t, b, fmt.Sprintf("{notes: {url: %q, transport: http, defer: always}}\nhooks: {pre_tool_call: [{matcher: 'mcp__.*', command: %q}]}\ncode_execution: {mcp_tools: read_only}",
		serveTools(t, s), hook))
	var titles []string
	u.seen = func(f frame) {
		var p struct {
			Update struct{ SessionUpdate, Title string }
		}
		if json.Unmarshal(f.RawParams, &p) == nil && strings.HasPrefix(p.Update.SessionUpdate, "tool_call") {
			titles = append(titles, p.Update.Title)
		}
	}
	said, requests := u.say("Go.",
		sayCalls("tool_calls", "tool_call", `{"name":"mcp__notes__look","arguments":{"text":"one"}}`),
		sayCalls("tool_calls", "tool_call", `{"name":"mcp__notes__change","arguments":{"text":"two"}}`),
		sayCalls("tool_calls", "mcp__notes__look", `{"text":"three"}`),
		sayCalls("tool_calls", "tool_call", `{"name":"mcp__notes__look","arguments":{"text":7}}`),
		sayCalls("tool_calls", "tool_call", `{"name":"mcp__notes__lok","arguments":{}}`),
		sayCalls("tool_calls", "execute_code", `{"code":"from hermes_tools import mcp_call\nprint(mcp_call('notes', 'look', {'text': 'four'}))\nprint(mcp_call('notes', 'change', {'text': 'five'}))"}`),
		sayText("Done."))
	if strings.Contains(requests[0], `"name":"mcp__notes__look"`) || !strings.Contains(requests[0], `"name":"tool_search"`) {
		t.Errorf("the first request offers %.2000s", requests[0])
	}
	for i, want := range []string{"look: one", "change: two", "look: three", "text", "Unknown tool: mcp__notes__lok. tool_search finds tools by words. Did you mean mcp__notes__look?", "look: four"} {
		if got := lastOf(requests[i+1], "tool"); !strings.Contains(got, want) {
			t.Errorf("result %d lacks %q: %.500s", i, want, got)
		}
	}
	if last := lastOf(requests[6], "tool"); !strings.Contains(last, "mcp__notes__change is not marked read-only") || strings.Contains(last, "change: five") {
		t.Errorf("the script called a tool that writes: %s", last)
	}
	all := strings.Join(titles, "\n")
	if strings.Count(all, "notes: look") < 2 || !strings.Contains(all, "notes: change") || strings.Count(all, "tool_call") != 1 { // the title of the unknown tool name
		t.Errorf("titles:\n%s", all)
	}
	if asked := u.asked.String(); strings.Count(asked, "\n") != 1 || !strings.Contains(asked, "notes: change") {
		t.Errorf("asked: %s", asked)
	}
	hooked, err := os.ReadFile(log)
	if err != nil || strings.Count(string(hooked), `"tool_name":"mcp__notes__look"`) != 4 || strings.Count(string(hooked), `"tool_name":"mcp__notes__change"`) != 1 ||
		strings.Contains(string(hooked), `"tool_name":"tool_call"`) {
		t.Errorf("the hook got %v: %s", err, hooked)
	}
	u.end()
	out := b.output(t, b.binary, "sessions", "export", u.session)
	if strings.Count(out, "mcp__notes__look") < 3 || !strings.Contains(out, "mcp__notes__change") || !strings.Contains(said, "Done.") {
		t.Errorf("the export:\n%s", out)
	}
	if shown := b.output(t, b.binary, "sessions", "show", u.session); strings.Count(shown, "### tool_call") != 1 || strings.Count(shown, "### mcp__notes__look") != 3 {
		t.Errorf("sessions show:\n%s", shown)
	}
}

func deferredTool(name string) sdk.ToolHandlerFor[struct {
	Text string `json:"text,omitempty"`
}, any] {
	return func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		Text string `json:"text,omitempty"`
	}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + ": " + in.Text}}}, nil, nil
	}
}

// TestLoginLSP logs in from a language client: the address is opened by the editor, or stands in the answer. Before the
// login, the server has no tools, and the model can search for some.
func TestLoginLSP(t *testing.T) {
	t.Parallel()
	for _, support := range []bool{true, false} {
		t.Run(fmt.Sprint(support), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"pricing.py": "a = 1\n"})
			a := newAuthority(t, b, time.Hour)
			w := newWireWith(t, b, "serve", map[string]any{"showDocument": map[string]any{"support": support}})
			state := func() string {
				args := []any{map[string]any{"sessionId": w.session}}
				return string(w.call("workspace/executeCommand", map[string]any{"command": "hermes.extensions", "arguments": args}))
			}
			waitFor(t, "the state needs login", func() bool { return strings.Contains(state(), `"state":"needs login"`) })
			if c := a.control(t, ""); c.Registered != 0 {
				t.Errorf("registered without a login: %+v", c)
			}
			do := func(more map[string]any) string {
				args := map[string]any{"sessionId": w.session, "server": "corp"}
				for name, value := range more {
					args[name] = value
				}
				return string(w.call("workspace/executeCommand", map[string]any{"command": "hermes.mcp.login", "arguments": []any{args}}))
			}
			answer := do(nil)
			frames := func() string {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.frames.String()
			}
			find := regexp.MustCompile(`http://[^"\\ ]+/auth\?[^" ]+`)
			text := answer
			if support {
				waitFor(t, "window/showDocument", func() bool { return strings.Contains(frames(), `"window/showDocument"`) })
				if text = frames(); !strings.Contains(text, `"external":true`) {
					t.Errorf("the frames are %s", text)
				}
			}
			address := find.FindString(strings.ReplaceAll(strings.ReplaceAll(text, `\u0026`, "&"), `\n`, " "))
			if address == "" {
				t.Fatalf("there is no address in %s\n%s", answer, frames())
			}
			if support {
				browse(t, address, true)
			} else if answer = do(map[string]any{"address": browse(t, address, false)}); !strings.Contains(answer, "The address is right") {
				t.Errorf("the pasted address: %s", answer)
			}
			waitFor(t, "the tools", func() bool {
				return strings.Contains(state(), `"state":"connected"`) && strings.Contains(state(), `"tools":3`)
			})
			if c := a.control(t, ""); c.Registered != 1 {
				t.Errorf("%+v", c)
			}
		})
	}
}
