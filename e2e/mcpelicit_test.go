//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const orderForm = `{"type":"object","required":["count","color"],"properties":{
	"count":{"type":"integer","minimum":1,"title":"Count"},"color":{"type":"string","enum":["red","blue"]},"note":{"type":"string"}}}`

// newShop is an MCP server whose tools ask for values (order), a password (login) and an address
// (pay). It returns the answers.
func newShop(t *testing.T, b bed) *lockedBuffer {
	t.Helper()
	answers := &lockedBuffer{}
	s := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	add := func(name string, p *sdk.ElicitParams) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: name, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
			func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
				got, err := r.Session.Elicit(ctx, p)
				if err != nil {
					return nil, nil, err
				}
				if p.ElicitationID != "" {
					_ = r.Session.NotifyElicitationComplete(ctx, &sdk.ElicitationCompleteParams{ElicitationID: p.ElicitationID})
				}
				text, err := json.Marshal(got)
				_, _ = answers.Write(text) // never fails
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "got " + string(text)}}}, nil, err
			})
	}
	add("order", &sdk.ElicitParams{Message: "Your order", RequestedSchema: json.RawMessage(orderForm)})
	add("login", &sdk.ElicitParams{Message: "Log in", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"password":{"type":"string"}}}`)})
	add("pay", &sdk.ElicitParams{Mode: "url", Message: "Pay here", URL: "https://xn--e1awd7f.example/pay", ElicitationID: "7"})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)
	write(t, filepath.Join(b.home, "config.yaml"), fmt.Sprintf("model: {provider: embedded}\nmcp_servers: {shop: {url: %q, protocol: legacy}}\n", web.URL))
	return answers
}

type elicitFrame struct {
	Message         string
	Mode, URL       string
	RequestedSchema json.RawMessage
	ToolCall        struct {
		Title   string
		Content []struct {
			Content struct{ Text string }
			OldText string // of a diff
			NewText string
		}
	}
	Options []struct{ OptionID string }
}

// TestElicitationACP checks an ACP client's view of a server that asks for values or an address:
// the whole form, its fields in sequence, an address to open, or a permission request.
func TestElicitationACP(t *testing.T) {
	t.Parallel()
	order := []string{`{"action":"accept","content":{"count":0,"color":"red"}}`, `{"action":"accept","content":{"count":2,"color":"red"}}`}
	for name, c := range map[string]struct {
		can, tool string
		answers   []string // to requests of the agent, as JSON; TEXT: with /answer
		want      []string // in the texts for the user and the model
		messages  []string // in the requests
	}{
		"form":     {`{"elicitation":{"form":{}}}`, "order", order, []string{`"action":"accept","content":{"color":"red","count":2}`}, []string{"shop (MCP server) asks: Your order", "do not fit"}},
		"declined": {`{"elicitation":{"form":{}}}`, "order", []string{`{"action":"decline"}`}, []string{`"action":"decline"`}, []string{"shop (MCP server) asks"}},
		"canceled": {`{"elicitation":{"form":{}}}`, "order", []string{`{"action":"cancel"}`}, []string{`"action":"cancel"`}, []string{"Your order"}},
		"fields": {
			`{}`, "order",
			[]string{"2", `{"outcome":{"outcome":"selected","optionId":"choice-2"}}`, "-", `{"outcome":{"outcome":"selected","optionId":"choice-1"}}`},
			[]string{"Answer with `/answer TEXT`", `"action":"accept","content":{"color":"blue","count":2}`}, []string{"color", "Send this?"},
		},
		"secret":  {`{"elicitation":{"form":{}}}`, "login", nil, []string{"looks like a secret", `"action":"decline"`}, nil},
		"address": {`{"elicitation":{"url":{}}}`, "pay", []string{`{"action":"accept"}`}, []string{`"action":"accept"`, "the step in your browser is complete"}, []string{"shop (MCP server) asks: Pay here", "Host: xn--e1awd7f.example (punycode"}},
		"address in the chat": {
			`{}`, "pay", []string{`{"outcome":{"outcome":"selected","optionId":"once"}}`},
			[]string{`"action":"accept"`, "asks you to open https://xn--e1awd7f.example/pay"}, []string{"Host: xn--e1awd7f.example (punycode"},
		},
		"no address": {`{}`, "pay", []string{`{"outcome":{"outcome":"selected","optionId":"no"}}`}, []string{`"action":"decline"`}, []string{"Pay here"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"a.txt": ""})
			newShop(t, b)
			l := b.lineWith(t, exec.Command(b.binary, "acp"), c.can)
			session := l.newSession(b.workspace)
			var all, asked strings.Builder
			next := func() string {
				if len(c.answers) == 0 {
					t.Error("a request too many")
					return "{}"
				}
				a := c.answers[0]
				c.answers = c.answers[1:]
				return a
			}
			l.call("session/prompt", promptOf(session, "Go.\n```hermes-script\n"+
				`[{"call":{"name":"mcp__shop__`+c.tool+`","args":{}}}]`+"\n"+`[{"text":"Done."}]`+"\n```"), nil, func(f frame) {
				text := f.text()
				all.WriteString(text)
				all.WriteString(string(f.Params.Update.Content) + string(f.Params.Update.RawOutput))
				if strings.Contains(text, "/answer TEXT") {
					l.send("session/prompt", promptOf(session, "/answer "+next()))
				}
				if len(f.ID) == 0 {
					return
				}
				var e elicitFrame
				if err := json.Unmarshal(f.RawParams, &e); err != nil {
					t.Error(err)
				}
				asked.WriteString(e.Message + e.ToolCall.Title + "\n")
				if e.Mode == "form" && !strings.Contains(string(e.RequestedSchema), `"minimum":1`) {
					t.Errorf("the schema is %s", e.RequestedSchema)
				}
				l.answer(f, json.RawMessage(next()))
			})
			got := strings.ReplaceAll(all.String(), `\"`, `"`)
			for end := time.Now().Add(screenLimit); slices.ContainsFunc(c.want, func(want string) bool { return !strings.Contains(got, want) }) && time.Now().Before(end); {
				// A notice of the server can follow the turn.
				l.call("session/prompt", promptOf(session, "/status"), nil, func(f frame) { all.WriteString(f.text()) })
				got = strings.ReplaceAll(all.String(), `\"`, `"`)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("nothing has %s:\n%s", want, got)
				}
			}
			for _, want := range c.messages {
				if !strings.Contains(asked.String(), want) {
					t.Errorf("no request has %s:\n%s", want, asked.String())
				}
			}
			if len(c.answers) > 0 {
				t.Errorf("not asked for: %q", c.answers)
			}
			l.end()
		})
	}
}

// TestElicitationLSP checks that a language client without a plugin is asked about an address by a
// message request. It opens the address only if the user agrees.
func TestElicitationLSP(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{"Open": `"action":"accept"`, "Do not open": `"action":"decline"`} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"pricing.py": "a = 1\n"})
			answers := newShop(t, b)
			w := newWireWith(t, b, "serve", map[string]any{"showDocument": map[string]any{"support": true}})
			w.send("Go.\n```hermes-script\n" + `[{"call":{"name":"mcp__shop__pay","args":{}}}]` + "\n" + `[{"text":"Paid."}]` + "\n```")
			w.choose(label)
			w.wait("Paid.")
			w.mu.Lock()
			got := w.frames.String()
			w.mu.Unlock()
			if !strings.Contains(got, "Host: xn--e1awd7f.example (punycode") || !strings.Contains(answers.String(), want) {
				t.Errorf("the server got %s, not %s:\n%s", answers, want, got)
			}
			shown := strings.Contains(got, `"method":"window/showDocument"`) && strings.Contains(got, `"external":true`)
			if shown != (label == "Open") {
				t.Errorf("the address is opened: %v\n%s", shown, got)
			}
		})
	}
}
