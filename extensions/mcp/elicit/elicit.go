// Package elicit asks the user for values and addresses requested by MCP servers.
package elicit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/clean"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/form"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	usualTimeout = 300 * time.Second
	mostShown    = 3 // how often a field is shown

	accept, decline, cancelled = "accept", "decline", "cancel" // actions of the protocol
)

// Asker passes the requests of a server on to the user, in order. It is safe for concurrent use.
type Asker struct {
	Server, Label, SessionID string
	Timeout                  time.Duration // 0: 300 s
	Ask                      tools.Clarifier
	// Later shows a question in the chat and waits for the user's answer there. Nil: the user cannot answer in the chat.
	Later func(ctx context.Context, question string) (answer string, ok bool)
	// Notice sends the user a text caused by the server, Tell a text caused by the user.
	Notice, Tell func(text string)
	// During returns the context of a question while it is shown.
	During func(ctx context.Context) (context.Context, context.CancelFunc)

	gate gate
}

// elicitation is a request of a server.
type elicitation struct {
	*Asker
	params *sdk.ElicitParams
}

// Answer asks the user for the values requested by a server. If the user does not answer, or too
// many requests are pending, the action is cancel. No mode answers for the user.
func (a *Asker) Answer(ctx context.Context, p *sdk.ElicitParams) *sdk.ElicitResult {
	if !a.gate.enter(time.Now()) {
		a.Notice("sends too many requests for values. They are canceled")
		return &sdk.ElicitResult{Action: cancelled}
	}
	defer a.gate.leave()
	ctx, over := a.During(ctx)
	defer over()
	if !a.gate.turn(ctx) {
		return &sdk.ElicitResult{Action: cancelled}
	}
	defer a.gate.next()
	ctx, stop := context.WithTimeout(ctx, cmp.Or(a.Timeout, usualTimeout))
	defer stop()
	e := &elicitation{a, p}
	if p.Mode == "url" {
		return e.url(ctx)
	}
	return e.form(ctx)
}

func (e *elicitation) question(text string) string {
	return fmt.Sprintf("%s (MCP server) asks: %s\n\n%s", e.Server, clean.Text(e.params.Message, 1000), text)
}

// choose asks the user to select a choice, or for a text if there are no choices. If the user does
// not answer, choose returns false.
func (e *elicitation) choose(ctx context.Context, text string, choices []string) (string, bool) {
	a, err := e.Ask.Clarify(ctx, e.request(tools.ClarifyRequest{Question: e.question(text), Choices: choices, FreeText: len(choices) == 0}))
	switch {
	case err != nil || ctx.Err() != nil:
		return "", false
	case a.Kind == tools.AnswerLater && e.Later != nil:
		if len(choices) > 0 {
			text += "\nOne of: " + strings.Join(choices, ", ")
		}
		answer, ok := e.Later(ctx, e.question(text))
		return strings.TrimSpace(answer), ok
	}
	return strings.TrimSpace(a.Text), a.Kind == tools.AnswerGiven
}

func (e *elicitation) request(q tools.ClarifyRequest) tools.ClarifyRequest {
	q.Server = true
	q.SessionID, q.CallID = e.SessionID, "mcp-elicitation-"+e.Label
	return q
}

// url asks the user to open an address, which is never requested here.
func (e *elicitation) url(ctx context.Context) *sdk.ElicitResult {
	address := escape.Line(e.params.URL)
	u, err := url.Parse(e.params.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		e.Notice("asks you to open an address that is no web address: " + address)
		return &sdk.ElicitResult{Action: decline}
	}
	host := "Host: " + escape.Line(u.Hostname())
	if strings.Contains(u.Hostname(), "xn--") {
		host += " (punycode: the name may look like another one)"
	}
	text := "Open this address?\n" + address + "\n" + host
	a, err := e.Ask.Clarify(ctx, e.request(tools.ClarifyRequest{
		Question: e.question(text), Address: e.params.URL, AddressID: e.addressID(),
	}))
	if err == nil && a.Kind == tools.AnswerLater {
		const show = "Show it in the chat"
		answer, ok := e.choose(ctx, text, []string{show, "Do not open"})
		a = tools.Answer{Kind: tools.AnswerDeclined}
		switch {
		case !ok:
			a.Kind = tools.AnswerNone
		case answer == show:
			a.Kind = tools.AnswerGiven
		}
	}
	switch {
	case err != nil || ctx.Err() != nil:
		return &sdk.ElicitResult{Action: cancelled}
	case a.Kind == tools.AnswerDeclined:
		return &sdk.ElicitResult{Action: decline}
	case a.Kind != tools.AnswerGiven:
		return &sdk.ElicitResult{Action: cancelled}
	}
	if a.Text == "" { // nothing has opened it
		e.Tell("asks you to open " + address)
	}
	e.gate.agreed(e.params.ElicitationID)
	return &sdk.ElicitResult{Action: accept}
}

// addressID returns the id of a request with an address: ids of two servers can be equal.
func (e *elicitation) addressID() string {
	return e.Server + "/" + clean.Line(e.params.ElicitationID, 200)
}

const leaveOut = "Leave out"

// form shows the whole form. If the host does not support this, form asks for each field in turn,
// then for approval to send the values.
func (e *elicitation) form(ctx context.Context) *sdk.ElicitResult {
	fields, err := form.Fields(e.params.RequestedSchema)
	if err != nil {
		e.Notice("asks for values in a form that cannot be shown: " + err.Error())
		return &sdk.ElicitResult{Action: decline}
	}
	values, lines := map[string]any{}, []string{}
	for _, f := range fields {
		if f.Secret() {
			e.Notice(fmt.Sprintf("asks for %q, which looks like a secret. It was declined", f.Title))
			return &sdk.ElicitResult{Action: decline}
		}
	}
	if r := e.whole(ctx, fields); r != nil {
		return r
	}
	for _, f := range fields {
		value, given, ok := e.value(ctx, f)
		if !ok {
			return &sdk.ElicitResult{Action: cancelled}
		}
		if given {
			values[f.Name] = value
			lines = append(lines, fmt.Sprintf("%s: %v", f.Title, value))
		}
	}
	const send = "Send"
	switch answer, ok := e.choose(ctx, "Send this?\n"+strings.Join(lines, "\n"), []string{send, "Do not send"}); {
	case !ok:
		return &sdk.ElicitResult{Action: cancelled}
	case answer != send:
		return &sdk.ElicitResult{Action: decline}
	}
	return &sdk.ElicitResult{Action: accept, Content: values}
}

// whole shows the form with the server's schema until the values fit. If the host cannot show it,
// whole returns nil.
func (e *elicitation) whole(ctx context.Context, fields []form.Field) *sdk.ElicitResult {
	data, err := json.Marshal(e.params.RequestedSchema)
	var schema jsonschema.Schema
	if err == nil {
		err = json.Unmarshal(data, &schema)
	}
	var resolved *jsonschema.Resolved
	if err == nil {
		resolved, err = schema.Resolve(nil)
	}
	if err != nil {
		return nil // the fields were readable, so ask for each
	}
	question := strings.TrimSpace(e.question(""))
	for range mostShown {
		a, err := e.Ask.Clarify(ctx, e.request(tools.ClarifyRequest{Question: question, Form: data}))
		switch {
		case err == nil && ctx.Err() == nil && a.Kind == tools.AnswerLater:
			return nil
		case err == nil && ctx.Err() == nil && a.Kind == tools.AnswerDeclined:
			return &sdk.ElicitResult{Action: decline}
		case err != nil || ctx.Err() != nil || a.Kind != tools.AnswerGiven:
			return &sdk.ElicitResult{Action: cancelled}
		}
		values := map[string]any{}
		if err = json.Unmarshal([]byte(a.Text), &values); err == nil {
			err = form.Check(fields, values)
		}
		if err == nil {
			err = resolved.Validate(values)
		}
		if err == nil {
			return &sdk.ElicitResult{Action: accept, Content: values}
		}
		question = e.question("The last values do not fit: " + clean.Line(err.Error(), 300))
	}
	return &sdk.ElicitResult{Action: cancelled}
}

// value asks for the value of a field until it fits. If the user leaves it out, given is
// false. If the user does not answer, or the value does not fit three times, ok is false.
func (e *elicitation) value(ctx context.Context, f form.Field) (value any, given, ok bool) {
	text := f.Text
	for range mostShown {
		choices := slices.Clone(f.Choices)
		if !f.Required && len(choices) > 0 {
			choices = append(choices, leaveOut)
		}
		answer, answered := e.choose(ctx, text, choices)
		if !answered {
			return nil, false, false
		}
		if !f.Required && (answer == "" || answer == leaveOut || answer == "-") {
			return nil, false, true
		}
		value := f.Parse(answer)
		err := f.Validate(value)
		if err == nil {
			return value, true, true
		}
		text = f.Text + "\nThe last answer does not fit: " + clean.Line(err.Error(), 300)
	}
	return nil, false, false
}
