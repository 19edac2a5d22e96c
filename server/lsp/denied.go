package lsp

import (
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
	"github.com/hermes-ls/hermes-ls/tools"
)

// unknownMethod tells whether an editor has answered that it knows no such request: one
// that shows no questions, for instance.
func unknownMethod(err error) bool {
	var said *jsonrpc2.Error
	var carried *acp.Error // the same, through the agent
	return errors.As(err, &said) && said.Code == jsonrpc2.MethodNotFound ||
		errors.As(err, &carried) && carried.Code == acp.CodeMethodNotFound
}

// reportDenied reports an action that was denied because the editor cannot show approval
// requests, and how to allow it: in the chat of the answer, else in a message.
func (s *server) reportDenied(q tools.Question) {
	if c := s.chats.OfSession(q.SessionID); c != nil {
		if a := c.Writing(); a != nil {
			a.Note("> " + strings.Join(deniedText(q, config.Path(s.service.Home)), "\n> "))
			return
		}
	}
	s.show(lsp.MessageTypeWarning, "Not done: %s, since it asks first and this editor cannot show questions.", chat.OneLine(q.Title, 200))
}

// deniedText returns the lines of the report in a chat.
func deniedText(q tools.Question, configFile string) []string {
	who := "it"
	if q.For != "" {
		who = "the subagent “" + chat.OneLine(q.For, 60) + "”"
	}
	lines := []string{
		fmt.Sprintf("**Not done**, though %s asked to: %s", who, code(q.Title)),
		fmt.Sprintf("It %s, so it needs a yes, and this editor cannot show questions.", strings.TrimSuffix(q.Reason, ".")),
	}
	if q.Remember == "" {
		return append(lines, "Do it yourself where you want it.")
	}
	return append(lines, fmt.Sprintf("To allow it, add %s to `command_allowlist` in %s, which counts at once, and ask again.", code(q.Remember), configFile))
}

// code is a text of one line or more in backticks that it cannot close.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	ticks := "`"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}
