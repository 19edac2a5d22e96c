package lsp

import (
	"context"
	"fmt"
	"strings"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/tools"
)

// AskPermission asks the user: with session/request_permission where the editor gets
// updates, else, or if it does not know that request, with a message with four buttons.
// Whatever is not a clear yes is a no.
func (h host) AskPermission(ctx context.Context, q tools.Question) (tools.Decision, error) {
	if h.s.updates(q.SessionID) {
		decision, err := h.s.agent.AskPermission(ctx, q)
		if !unknownMethod(err) {
			return decision, err
		}
	}
	choices := choicesFor(q)
	params := &lsp.ShowMessageRequestParams{Type: lsp.MessageTypeWarning, Message: questionText(q)}
	for _, c := range choices {
		params.Actions = append(params.Actions, lsp.MessageActionItem{Title: c.title})
	}
	// The gate's ctx bounds how long a person may think.
	var chosen lsp.MessageActionItem
	if err := h.s.showQuestion(ctx, params, &chosen); err != nil {
		if unknownMethod(err) {
			h.s.reportDenied(q)
			unasked := &tools.Unasked{Why: "this editor cannot show approval requests"}
			if q.Remember != "" {
				unasked.How = "add " + q.Remember + " to command_allowlist; the chat says how"
			}
			err = unasked
		}
		return tools.DecisionNo, err
	}
	for _, c := range choices {
		if chosen.Title == c.title {
			return c.decision, nil
		}
	}
	return "", nil
}

type choice struct {
	decision tools.Decision
	title    string
}

// choicesFor are the answers in the contract's order; without those that remember
// something if nothing can be remembered. Each title begins with its word and has the exact
// rule that is remembered; it contains none of the other words, not even within a longer one.
func choicesFor(q tools.Question) []choice {
	choices := []choice{{tools.DecisionOnce, "once: allow this call only"}}
	if q.Remember != "" {
		choices = append(choices,
			choice{tools.DecisionSession, "session: allow “" + q.Remember + "” until this session ends"},
			choice{tools.DecisionAlways, "always: allow “" + q.Remember + "” for good"})
	}
	return append(choices, choice{tools.DecisionNo, "no: refuse"})
}

func questionText(q tools.Question) string {
	var b strings.Builder
	if q.For != "" {
		fmt.Fprintf(&b, "The subagent “%s” asks: %s", q.For, q.Title)
	} else {
		fmt.Fprintf(&b, "Hermes asks: %s", q.Title)
	}
	if q.Reason != "" {
		fmt.Fprintf(&b, "\n\nIt asks because it %s.", strings.TrimSuffix(q.Reason, "."))
	}
	return b.String()
}
