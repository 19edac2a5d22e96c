package lsp

import (
	"context"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
	"github.com/hermes-ls/hermes-ls/tools"
)

// The text beside the choices: a message has buttons, and no field to write in.
const (
	answerInChat = "Answer in the chat"
	youDecide    = "You decide"
	cancelForm   = "Cancel"
)

// CanClarify returns true for every editor: messages with buttons are part of the protocol. If an
// editor shows none, the question is closed.
func (h host) CanClarify() bool { return true }

// Clarify asks the user a question. A plugin shows a form, also an MCP server's. Other editors show
// a message with a button for each choice.
func (h host) Clarify(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	if q.Address == "" && h.s.editor.Client.ACP != nil && h.s.agent.Client.ShowsForms() {
		return h.s.agent.Client.Clarify(ctx, q)
	}
	if q.Form != nil {
		return tools.Answer{Kind: tools.AnswerLater}, nil // the server asks for the fields in sequence
	}
	if q.Address != "" {
		return h.offerAddress(ctx, q)
	}
	if q.Server && len(q.Choices) == 0 {
		return tools.Answer{Kind: tools.AnswerLater}, nil // a message has no field for a text
	}
	params := &lsp.ShowMessageRequestParams{Type: lsp.MessageTypeInfo, Message: "Hermes asks: " + q.Question}
	for _, title := range q.Choices {
		params.Actions = append(params.Actions, lsp.MessageActionItem{Title: title})
	}
	if q.FreeText {
		params.Actions = append(params.Actions, lsp.MessageActionItem{Title: answerInChat})
	}
	last := youDecide
	if q.Server {
		last = cancelForm
	}
	params.Actions = append(params.Actions, lsp.MessageActionItem{Title: last})
	var chosen lsp.MessageActionItem
	if err := h.s.editor.Choose(ctx, params, &chosen); editor.UnknownMethod(err) {
		return tools.Answer{Kind: tools.AnswerLater}, nil // the user answers in the chat
	} else if err != nil {
		return tools.Answer{}, err
	}
	switch {
	case q.Offers(chosen.Title):
		return tools.Answer{Kind: tools.AnswerGiven, Text: chosen.Title}, nil
	case chosen.Title == answerInChat && q.FreeText:
		return tools.Answer{Kind: tools.AnswerLater}, nil
	case chosen.Title == youDecide && !q.Server:
		return tools.Answer{Kind: tools.AnswerYou}, nil
	}
	return tools.Answer{}, nil
}

// offerAddress asks the user whether to open an address, and lets the editor open it. If the
// editor cannot, the answer has no text.
func (h host) offerAddress(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	const open, leave = "Open", "Do not open"
	params := &lsp.ShowMessageRequestParams{
		Type: lsp.MessageTypeInfo, Message: q.Question, Actions: []lsp.MessageActionItem{{Title: open}, {Title: leave}},
	}
	var chosen lsp.MessageActionItem
	if err := h.s.editor.Choose(ctx, params, &chosen); err != nil {
		return tools.Answer{}, err
	}
	switch chosen.Title {
	case open:
		a := tools.Answer{Kind: tools.AnswerGiven}
		if h.s.editor.OpenAddress(ctx, q.Address) {
			a.Text = q.Address
		}
		return a, nil
	case leave:
		return tools.Answer{Kind: tools.AnswerDeclined}, nil
	}
	return tools.Answer{}, nil
}
