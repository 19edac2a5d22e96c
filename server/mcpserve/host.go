package mcpserve

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// host is the host of a session during a call.
type host struct {
	ctx context.Context // of the call
	req *sdk.CallToolRequest

	// allowed holds the keys allowed by the user for the session, as shown in an approval request.
	// A session is closed after each call, and forgets them.
	allowed map[string]bool

	mu      sync.Mutex      // also guards allowed
	text    strings.Builder // since the last tool call
	notices []string
	steps   float64
}

func newHost(ctx context.Context, req *sdk.CallToolRequest) *host {
	return &host{ctx: ctx, req: req, allowed: map[string]bool{}}
}

func (*host) Documents(string) workspace.Documents { return nil }
func (*host) Terminals(string) shell.Terminals     { return nil }
func (h *host) Sink(string) agent.Sink             { return h }

// Event collects the answer and notices, and sends each tool call as progress.
func (h *host) Event(e agent.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e := e.(type) {
	case agent.Text:
		h.text.WriteString(e.Text)
	case agent.Notice:
		h.notices = append(h.notices, e.Text)
	case agent.TurnSummary:
		h.notices = append(h.notices, e.Text)
	case agent.CallStarted:
		h.text.Reset()
		h.progress(e.Title)
	case agent.ChildStarted:
		h.progress("Subagent: " + e.Goal)
	case agent.ChildEvent:
		if call, ok := e.Event.(agent.CallStarted); ok {
			h.progress(call.Title)
		}
	}
}

// progress sends a line if the host wants progress. h.mu must be held.
func (h *host) progress(line string) {
	token := h.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	h.steps++
	line, _, _ = strings.Cut(line, "\n")
	// A disconnected host gets no progress. The call then ends.
	_ = h.req.Session.NotifyProgress(h.ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: h.steps, Message: line})
}

// answer returns the text after the last tool call, and the notices.
func (h *host) answer() (text string, notices []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.TrimSpace(h.text.String()), h.notices
}

// asks reports whether the host can show a form.
func (h *host) asks() bool {
	p := h.req.Session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil
}

// field is the name of the form's field.
const field = "answer"

// elicit shows a form with a field. If choices is empty, the field is a text. If the user does
// not answer, elicit returns "".
func (h *host) elicit(ctx context.Context, message, title string, choices []string) (string, error) {
	property := &jsonschema.Schema{Type: "string", Title: title}
	for _, c := range choices {
		property.Enum = append(property.Enum, c)
	}
	r, err := h.req.Session.Elicit(ctx, &sdk.ElicitParams{
		Message:         message,
		RequestedSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{field: property}, Required: []string{field}},
	})
	if err != nil {
		return "", fmt.Errorf("asking the user: %w", err)
	}
	answer, _ := r.Content[field].(string)
	if r.Action != "accept" {
		return "", nil
	}
	return strings.TrimSpace(answer), nil
}

// AskPermission shows an approval request. If the host cannot show requests, the action is denied.
// If an earlier call got an approval for the session, the action is allowed.
func (h *host) AskPermission(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	if h.isAllowed(q) {
		return tools.DecisionSession, nil
	}
	decision, err := h.ask(ctx, q)
	if decision == tools.DecisionSession && err == nil && q.Remember != "" {
		h.mu.Lock()
		h.allowed[q.Remember] = true
		h.mu.Unlock()
	}
	return decision, err
}

func (h *host) isAllowed(q tools.ApprovalRequest) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(q.Choices) == 0 && h.allowed[q.Remember]
}

// ask is AskPermission without approvals of earlier calls.
func (h *host) ask(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	if !h.asks() {
		h.mu.Lock()
		h.notices = append(h.notices, "Denied, because this host cannot ask the user: "+q.Title)
		h.mu.Unlock()
		how := ""
		if len(q.Keys) > 0 {
			how = "add " + gate.Entries(q.Keys) + " to command_allowlist in config.yaml"
		}
		return tools.DecisionDeny, &gate.Unanswered{Why: "this host cannot ask the user", How: how}
	}
	message := "Hermes asks for approval: " + q.Title
	if q.For != "" {
		message = fmt.Sprintf("The subagent “%s” of Hermes asks for approval: %s", q.For, q.Title)
	}
	if q.Reason != "" {
		message += "\nThis " + q.Reason + "."
	}
	if q.Text != "" {
		message += "\n\n" + q.Text
	}
	if len(q.Edits) > 0 {
		message += "\n\n" + gate.EditText(q.Edits)
	}
	options := q.Options()
	if len(q.Choices) == 0 && q.Remember != "" {
		message += "\nAllow for this session and Always allow remember: " + q.Remember
		for i := range options { // a form shows short names
			options[i].Label, _, _ = strings.Cut(options[i].Label, ": ")
		}
	}
	labels := make([]string, len(options))
	for i, o := range options {
		labels[i] = o.Label
	}
	answer, err := h.elicit(ctx, message, "Decision", labels)
	if err != nil {
		return tools.DecisionDeny, err
	}
	for _, o := range options {
		if o.Label == answer {
			return o.ID, nil
		}
	}
	return tools.DecisionDeny, nil
}

// CanClarify reports whether the host can show a question.
func (h *host) CanClarify() bool { return h.asks() }

// Clarify shows a question of the model.
func (h *host) Clarify(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	if q.Form != nil {
		return tools.Answer{Kind: tools.AnswerLater}, nil // the fields are asked in sequence
	}
	if q.Address != "" {
		return h.offerAddress(ctx, q)
	}
	choices, message := q.Choices, "Hermes asks: "+q.Question
	if q.FreeText && len(choices) > 0 {
		message, choices = message+"\nSuggested answers: "+strings.Join(choices, " · "), nil
	}
	answer, err := h.elicit(ctx, message, "Answer", choices)
	if err != nil || answer == "" || !q.Takes(answer) {
		return tools.Answer{}, err
	}
	return tools.Answer{Kind: tools.AnswerGiven, Text: answer}, nil
}

// offerAddress passes a request to open an address to the host.
func (h *host) offerAddress(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	if e := h.req.Session.InitializeParams().Capabilities.Elicitation; e == nil || e.URL == nil {
		return tools.Answer{Kind: tools.AnswerLater}, nil
	}
	r, err := h.req.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "url", Message: q.Question, URL: q.Address, ElicitationID: q.AddressID})
	switch {
	case err != nil:
		return tools.Answer{}, fmt.Errorf("asking the user: %w", err)
	case r.Action == "accept":
		return tools.Answer{Kind: tools.AnswerGiven, Text: q.Address}, nil
	case r.Action == "decline":
		return tools.Answer{Kind: tools.AnswerDeclined}, nil
	}
	return tools.Answer{}, nil
}
