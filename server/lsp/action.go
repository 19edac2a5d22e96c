package lsp

import (
	"fmt"
	"strings"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/protocol"
)

// actionPrompts are the prompts of the code actions; %s is the location. The first line
// names the session and the progress.
var actionPrompts = map[string]string{
	protocol.CommandExplain: "Explain %s.\n\nWhat it does, how, and what is easy to get wrong about it. Read what you need around it. Change nothing.",
	protocol.CommandFix:     "Fix %s.\n\nFind the cause before you change anything, make the smallest change that removes it, and check the result.",
	protocol.CommandReview: "Review %s.\n\nLook for bugs, missed cases, and unclear code, the worst first, each with its line and what to do about it. " +
		"Change nothing.",
	protocol.CommandTest: "Write tests for %s.\n\nFollow the tests that are there already, and run them.",
	protocol.CommandDocument: "Document %s.\n\nComments in the way of the language and of the code around it, saying why where it is not plain. " +
		"Change no behaviour.",
}

// action is hermes.explain and its kin: a prompt about a place in a document.
func (s *server) action(name string, a protocol.ActionArgs, token lsp.ProgressToken) (command, error) {
	if a.TextDocument.URI == "" {
		return command{}, invalidParams("%s: textDocument.uri is missing", name)
	}
	q, err := s.quote(a.TextDocument.URI, a.Range)
	if err != nil {
		return command{}, err
	}
	wish := fmt.Sprintf(actionPrompts[name], q.place)
	input := agent.Input{Text: wish, Context: []agent.Resource{q.resource()}}
	if len(a.Diagnostics) > 0 {
		list := diagnosticsText(a.Diagnostics)
		input.Context = append(input.Context, agent.Resource{URI: a.TextDocument.URI + "#diagnostics", Text: list})
		wish += "\n\nReported there:\n\n" + list
	}
	return s.prompting(a.SessionID, input, wish, token, a.Wait), nil
}

var severities = [...]string{"problem", "error", "warning", "information", "hint"}

// diagnosticsText lists the editor's diagnostics, one on each line.
func diagnosticsText(list []protocol.Diagnostic) string {
	var b strings.Builder
	for _, d := range list {
		severity := severities[0]
		if d.Severity > 0 && d.Severity < len(severities) {
			severity = severities[d.Severity]
		}
		fmt.Fprintf(&b, "- line %d: %s: %s", d.Range.Start.Line+1, severity, strings.Join(strings.Fields(d.Message), " "))
		if d.Source != "" {
			fmt.Fprintf(&b, " (%s)", d.Source)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
