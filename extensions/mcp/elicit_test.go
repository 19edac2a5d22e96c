package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/tools"
)

// answering answers the questions of a server in order.
type answering struct {
	list  []string
	asked []string
	form  json.RawMessage
}

func (*answering) CanClarify() bool { return true }

func (a *answering) Clarify(_ context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	if q.Form != nil {
		a.form = q.Form
		return tools.Answer{Kind: tools.AnswerLater}, nil
	}
	a.asked = append(a.asked, q.Question+" "+strings.Join(q.Choices, "|"))
	if len(a.list) == 0 {
		return tools.Answer{}, nil
	}
	text := a.list[0]
	a.list = a.list[1:]
	if q.Address != "" && text != "Open" {
		return tools.Answer{Kind: tools.AnswerDeclined}, nil
	}
	return tools.Answer{Kind: tools.AnswerGiven, Text: text}, nil
}

// A server gets values only if the user answers each field and sends them.
func TestElicitation(t *testing.T) {
	t.Parallel()
	form := json.RawMessage(`{"type":"object","required":["age","color"],"properties":{
		"age":{"type":"integer","minimum":18},"color":{"type":"string","enum":["red","blue"]},"news":{"type":"boolean"},"note":{"type":"string"}}}`)
	for _, c := range []struct {
		params  sdk.ElicitParams
		answers []string
		want    sdk.ElicitResult
	}{
		{sdk.ElicitParams{RequestedSchema: form}, []string{"12", "20", "red", "Yes", "-", "Send"},
			sdk.ElicitResult{Action: "accept", Content: map[string]any{"age": 20.0, "color": "red", "news": true}}},
		{sdk.ElicitParams{RequestedSchema: form}, []string{"20", "red", "Leave out", "-", "Do not send"}, sdk.ElicitResult{Action: "decline"}},
		{sdk.ElicitParams{RequestedSchema: form}, []string{"1", "2", "3"}, sdk.ElicitResult{Action: "cancel"}},
		{sdk.ElicitParams{RequestedSchema: form}, nil, sdk.ElicitResult{Action: "cancel"}},
		{sdk.ElicitParams{RequestedSchema: json.RawMessage(`{"type":"object","properties":{"api_key":{"type":"string"}}}`)}, []string{"x"}, sdk.ElicitResult{Action: "decline"}},
		{sdk.ElicitParams{Mode: "url", URL: "https://xn--e1awd7f.com/a", ElicitationID: "1"}, []string{"Open"}, sdk.ElicitResult{Action: "accept"}},
		{sdk.ElicitParams{Mode: "url", URL: "https://example.com/a", ElicitationID: "1"}, []string{"Do not open"}, sdk.ElicitResult{Action: "decline"}},
		{sdk.ElicitParams{Mode: "url", URL: "file:///etc/passwd", ElicitationID: "1"}, []string{"Open"}, sdk.ElicitResult{Action: "decline"}},
	} {
		user := &answering{list: c.answers}
		s := &server{Server: Server{Name: "shop"}, owner: New(t.Context(), Config{Ask: user})}
		c.params.Message = "Your order"
		if got := newAsker(s).Answer(t.Context(), &c.params); !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%v gave %+v", c.answers, got)
		}
		for _, q := range user.asked {
			if !strings.HasPrefix(q, "shop (MCP server) asks: Your order") {
				t.Errorf("asked %q", q)
			}
		}
		if c.params.Mode == "url" && len(user.asked) > 0 && !strings.Contains(user.asked[0], c.params.URL+"\nHost: ") {
			t.Errorf("asked %q", user.asked)
		}
	}
}

// A call waits for the user while its server asks. The fields keep the server's order.
func TestElicitationDuringACall(t *testing.T) {
	t.Parallel()
	const form = `{"type":"object","required":["n"],"properties":{"to":{"type":"string","default":"Ann"},"n":{"type":"integer"},"gift":{"type":"boolean"}}}`
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "order", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			got, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "How many?", RequestedSchema: json.RawMessage(form)})
			if err != nil {
				return nil, nil, err
			}
			text, err := json.Marshal(got)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil, err
		})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)
	b := newBed(t)
	user := &answering{list: []string{"Bob", "3", "Yes", "Send"}}
	b.cfg.Ask = user
	b.Connect([]Server{{Name: "shop", URL: web.URL, Protocol: "legacy"}})
	b.Wait(t.Context(), testTimeout)
	b.set, _ = tools.NewSet(b.Tools()...)
	if got := b.call("mcp__shop__order", `{}`); !strings.Contains(got, `accept`) || !strings.Contains(got, `3`) {
		t.Errorf("the call gave %s", got)
	}
	if fields := tools.FormFields(user.form); !slices.Equal(fields, []string{"to", "n", "gift"}) {
		t.Errorf("the form has the fields %q", fields)
	}
}

// silent is a user who does not answer.
type silent struct{ asked, ended chan struct{} }

func (silent) CanClarify() bool { return true }

func (u silent) Clarify(ctx context.Context, _ tools.ClarifyRequest) (tools.Answer, error) {
	close(u.asked)
	<-ctx.Done()
	close(u.ended)
	return tools.Answer{}, nil
}

// If a turn is canceled, the server's request ends with its call, also if the server does not withdraw it.
func TestElicitationOfACanceledCall(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	got := make(chan string, 1)
	sdk.AddTool(s, &sdk.Tool{Name: "order", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			answer, err := r.Session.Elicit(context.WithoutCancel(ctx), &sdk.ElicitParams{Message: "How many?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
			if err == nil {
				got <- answer.Action
			}
			return nil, nil, err
		})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)
	b, user := newBed(t), silent{make(chan struct{}), make(chan struct{})}
	b.cfg.Ask = user
	b.Connect([]Server{{Name: "shop", URL: web.URL, Protocol: "legacy"}})
	b.Wait(t.Context(), testTimeout)
	b.set, _ = tools.NewSet(b.Tools()...)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-user.asked; cancel() }()
	_, _ = b.set.Call(ctx, b.env, tools.Call{ID: "c", Name: "mcp__shop__order", Args: json.RawMessage(`{}`)}) // it was canceled
	<-user.ended
	if action := <-got; action != "cancel" {
		t.Errorf("the server got %s", action)
	}
}
