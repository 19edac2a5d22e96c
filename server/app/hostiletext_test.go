//go:build unix

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// disguised is a text with a clipboard sequence, C1 controls and marks of direction.
const disguised = "be\x1b]52;c;ZXZpbA==\x07fo\u009b31mre \u202eretfa\u202c \u2066a\u2069\u200f\u061c\b"

// unclean returns the first text in a value, at any depth, with a control character or a mark of direction.
func unclean(v reflect.Value) string {
	bad := func(text string) string {
		if strings.ContainsFunc(text, func(r rune) bool {
			return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t\f", r) || unicode.Is(unicode.Bidi_Control, r)
		}) || strings.Contains(text, "52;c;") {
			return fmt.Sprintf("%q", text)
		}
		return ""
	}
	if v.IsValid() && v.CanInterface() {
		if raw, ok := v.Interface().(json.RawMessage); ok {
			var inner any
			if json.Unmarshal(raw, &inner) == nil {
				return unclean(reflect.ValueOf(inner))
			}
			return bad(string(raw))
		}
	}
	switch v.Kind() {
	case reflect.String:
		return bad(v.String())
	case reflect.Pointer, reflect.Interface:
		return unclean(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if text := unclean(v.Index(i)); text != "" {
				return text
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if text := unclean(key) + unclean(v.MapIndex(key)); text != "" {
				return text
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if text := unclean(v.Field(i)); text != "" {
				return text
			}
		}
	}
	return ""
}

// walker fails the test for each event with such a text.
type walker struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[string]bool
}

func (w *walker) Event(e agent.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[fmt.Sprintf("%T", e)] = true
	if text := unclean(reflect.ValueOf(e)); text != "" {
		w.t.Errorf("%T has %s", e, text)
	}
}

// No text of an MCP server or of a hook reaches the editor or the model with control characters for
// a terminal or the direction of text.
func TestDisguisedTexts(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: disguised, Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "look", Title: disguised, Description: disguised, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			p := &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: disguised}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return nil, nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{
				&sdk.TextContent{Text: disguised}, &sdk.ResourceLink{URI: "x:y", Name: disguised, Description: disguised},
			}}, nil, nil
		})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)

	home := t.TempDir()
	quoted, _ := json.Marshal(disguised)
	hook := filepath.Join(home, "hook")
	note := fmt.Sprintf(`{"note":%s,"context":%[1]s,"systemMessage":%[1]s}`, quoted)
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ncat <<'EOF'\n"+note+"\nEOF\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(home, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\ncat <<'EOF'\n"+disguised+"\nEOF\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	fails := filepath.Join(home, "fails")
	if err := os.WriteFile(fails, []byte("#!/bin/sh\ncat >&2 <<'EOF'\n"+disguised+"\nEOF\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("mcp_servers: {tickets: {url: %q}}\nhooks:\n", web.URL)
	for _, event := range []string{"transform_tool_result", "post_tool_call", "pre_llm_call", "transform_llm_output", "on_session_start"} {
		config += fmt.Sprintf("  %s: [{command: %q}, {command: %q}, {command: %q}]\n", event, hook, plain, fails)
	}
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cwd := t.TempDir()
	if err := os.WriteFile(filepath.Join(cwd, "a.txt"), []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		if text := unclean(reflect.ValueOf(x.Request.Messages)) + unclean(reflect.ValueOf(x.Request.System)) + unclean(reflect.ValueOf(x.Request.Tools)); text != "" {
			t.Errorf("a request has %s", text)
		}
		if x.Request.Messages[len(x.Request.Messages)-1].Role != model.ToolRole {
			x.Call("a", "read_file", `{"path":"a.txt"}`)
			x.Call("b", "mcp__tickets__look", `{}`)
			x.Call("c", "terminal", `{"command":"echo hi"}`)
			return
		}
		x.Text("Done.")
	})
	service := app.New(server.Options{Home: home, Environ: []string{"TEST=1", "PATH=" + os.Getenv("PATH")}, Model: m})
	t.Cleanup(func() { _ = service.Close() })
	host := &chooser{}
	x, err := service.NewSession(t.Context(), server.Place{Cwd: cwd}, host)
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{t: t, seen: map[string]bool{}}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "Look"}, w); err != nil {
		t.Fatal(err)
	}
	if len(w.seen) < 4 {
		t.Errorf("only %v were seen", w.seen)
	}
	if text := unclean(reflect.ValueOf(host.questions)); text != "" {
		t.Errorf("a question has %s", text)
	}
}
