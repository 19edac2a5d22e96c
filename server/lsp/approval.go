package lsp

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// AskPermission asks the user. If the editor gets updates, it sends session/request_permission.
// Other editors, or editors without this request, get a message with four buttons. Any answer
// except an option denies the request.
func (h host) AskPermission(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	if h.s.sessions.updates(q.SessionID) {
		decision, err := h.s.agent.Client.AskPermission(ctx, q)
		if !editor.UnknownMethod(err) {
			return decision, err
		}
	}
	h.showText(q)
	params := &lsp.ShowMessageRequestParams{Type: lsp.MessageTypeWarning, Message: questionText(q)}
	for _, c := range q.Options() {
		params.Actions = append(params.Actions, lsp.MessageActionItem{Title: c.Label})
	}
	// The gate's ctx bounds how long the user may think.
	var chosen lsp.MessageActionItem
	if err := h.s.editor.Choose(ctx, params, &chosen); err != nil {
		if editor.UnknownMethod(err) && len(q.Choices) > 0 && q.Text != "" {
			h.s.editor.Show(lsp.MessageTypeInfo, "Hermes: this editor cannot show the choices of a plan. Send /mode ask or /mode auto, then a prompt, to start.")
			return "", err
		}
		if editor.UnknownMethod(err) {
			h.reportDenied(q)
			cannot := &gate.Unanswered{Why: "this editor cannot show approval requests"}
			if len(q.Keys) > 0 {
				cannot.How = "add " + gate.Entries(q.Keys) + " to command_allowlist; the chat says how"
			}
			err = cannot
		}
		return tools.DecisionDeny, err
	}
	for _, c := range q.Options() {
		if chosen.Title == c.Label {
			return c.ID, nil
		}
	}
	return "", nil
}

func questionText(q tools.ApprovalRequest) string {
	var b strings.Builder
	if q.Text != "" && len(q.Choices) > 0 {
		return fmt.Sprintf("Hermes has a plan:\n\n%s", escape.Text(shortText(q.Text)))
	}
	if q.For != "" {
		fmt.Fprintf(&b, "The subagent “%s” asks: %s", q.For, q.Title)
	} else {
		fmt.Fprintf(&b, "Hermes asks: %s", q.Title)
	}
	if q.Reason != "" {
		fmt.Fprintf(&b, "\n\nIt asks because it %s.", strings.TrimSuffix(q.Reason, "."))
	}
	if q.Text != "" {
		fmt.Fprintf(&b, "\n\n%s", q.Text)
	}
	if len(q.Edits) > 0 {
		fmt.Fprintf(&b, "\n\n%s", gate.EditText(q.Edits))
	}
	return b.String()
}

// longestText limits the text of a request in a message, in characters.
const longestText = 2000

func shortText(text string) string {
	if r := []rune(text); len(r) > longestText {
		return string(r[:longestText]) + "…"
	}
	return text
}

// showText shows the text of a request in the chat of the answer, if the answer does not have it.
func (h host) showText(q tools.ApprovalRequest) {
	if q.Text == "" || q.Alone {
		return
	}
	if c := h.s.chats.set.OfSession(q.SessionID); c != nil {
		if a := c.Writing(); a != nil {
			a.Note(q.Text)
		}
	}
}

// reportDenied reports an action denied because the editor cannot show approval requests, and how
// to allow it: in the answer's chat, or else in a message.
func (h host) reportDenied(q tools.ApprovalRequest) {
	if c := h.s.chats.set.OfSession(q.SessionID); c != nil {
		if a := c.Writing(); a != nil {
			a.Note("> " + strings.Join(deniedText(q, config.Path(h.s.service.Home)), "\n> "))
			return
		}
	}
	h.s.editor.Show(lsp.MessageTypeWarning, "Not done: %s. It requires approval, and this editor cannot show approval requests.", chat.OneLine(q.Title, 200))
}

// deniedText returns the lines of the report in a chat.
func deniedText(q tools.ApprovalRequest, configFile string) []string {
	who := "the agent"
	if q.For != "" {
		who = "the subagent “" + chat.OneLine(q.For, 60) + "”"
	}
	lines := []string{
		fmt.Sprintf("**Denied**: %s requested %s", who, code(q.Title)),
		fmt.Sprintf("It %s, so it requires approval, and this editor cannot show approval requests.", strings.TrimSuffix(q.Reason, ".")),
	}
	switch {
	case len(q.Keys) == 1:
		return append(lines, fmt.Sprintf("To allow it, add %s to `command_allowlist` in %s. It applies at once. Then send the prompt again.", markup.Code(q.Keys[0]), configFile))
	case len(q.Keys) > 1:
		lines = append(lines, fmt.Sprintf("To allow it, add these %d entries to `command_allowlist` in %s. They apply at once. Then send the prompt again.", len(q.Keys), configFile), "```yaml")
		for _, key := range q.Keys {
			lines = append(lines, "- "+strconv.Quote(key))
		}
		return append(lines, "```")
	case len(q.Edits) > 0:
		return append(lines, "If you want it, make the edit yourself, or send /mode ask and the prompt again.")
	}
	return append(lines, "If you want it, run it yourself.")
}

// code returns text on one line in backticks, which the text cannot close.
func code(text string) string { return markup.Code(strings.Join(strings.Fields(text), " ")) }
