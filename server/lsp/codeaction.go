package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

// actions offers code actions and code lenses.
type actions struct {
	editor   *editor.Editor
	sessions *sessions
	chats    *chats
}

// offered is an entry of the code action menu.
type offered struct {
	title   string
	kind    lsp.CodeActionKind
	command string
	args    any
	fixes   []lsp.Diagnostic
}

// codeAction lists the actions for a position. It computes nothing.
func (a actions) codeAction(_ context.Context, p *lsp.CodeActionParams) (any, error) {
	list := []lsp.CommandOrCodeAction{}
	for _, o := range a.offers(p) {
		if !wanted(p.Context.Only, o.kind) {
			continue
		}
		body, err := json.Marshal(o.args)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", o.command, err)
		}
		command := lsp.Command{Title: o.title, Command: o.command, Arguments: []lsp.LSPAny{body}}
		if !a.editor.Client.Literals {
			list = append(list, &command)
			continue
		}
		kind := o.kind
		list = append(list, &lsp.CodeAction{Title: o.title, Kind: &kind, Diagnostics: o.fixes, Command: command})
	}
	body, err := lsp.Marshal(list)
	return jsonrpc2.RawMessage(body), err
}

func (a actions) offers(p *lsp.CodeActionParams) []offered {
	u := p.TextDocument.URI
	doc := protocol.TextDocument{URI: string(u)}
	if path, ok := a.chats.path(u); ok {
		return a.chatOffers(path, doc)
	}
	at := selected(p.Range)
	a.editor.Documents.Focus(u, p.Range)
	here := protocol.ActionArgs{TextDocument: doc, Range: &at}
	var selection protocol.ChatOpenArgs // a bare cursor selects nothing to quote
	if before(at.Start, at.End) {
		selection = protocol.ChatOpenArgs{TextDocument: &doc, Range: &at}
	}
	var list []offered
	if found := p.Context.Diagnostics; len(found) > 0 {
		fix := here
		fix.Range, fix.Diagnostics = around(at, found), diagnosticsOf(found)
		list = append(list, offered{protocol.TitleFix, lsp.CodeActionKindQuickFix, protocol.CommandFix, fix, found})
	}
	list = append(list, a.cancelOffer(a.sessions.currentID())...)
	return append(list,
		offered{title: protocol.TitleChat, kind: lsp.CodeActionKindRefactor, command: protocol.CommandChatOpen, args: selection},
		offered{title: protocol.TitleExplain, kind: lsp.CodeActionKindRefactor, command: protocol.CommandExplain, args: here},
		offered{title: protocol.TitleTest, kind: lsp.CodeActionKindRefactor, command: protocol.CommandTest, args: here},
		offered{title: protocol.TitleDocument, kind: lsp.CodeActionKindRefactor, command: protocol.CommandDocument, args: here},
	)
}

// selected returns the selection. In some editors the cursor is a selection of one character, which
// counts as empty.
func selected(r lsp.Range) protocol.Range {
	at := protocol.Range{Start: protocol.Position(r.Start), End: protocol.Position(r.End)}
	if at.Start.Line == at.End.Line && at.End.Character == at.Start.Character+1 {
		at.End = at.Start
	}
	return at
}

// chatOffers lists the actions in a chat.
func (a actions) chatOffers(path string, doc protocol.TextDocument) []offered {
	send := offered{title: protocol.TitleSend, kind: lsp.CodeActionKindRefactor, command: protocol.CommandChatSend, args: protocol.ChatSendArgs{TextDocument: doc}}
	c, err := a.chats.set.At(path)
	if err != nil {
		return []offered{send}
	}
	return append([]offered{send}, a.cancelOffer(c.SessionID())...)
}

// cancelOffer returns the action for canceling the running turn of a session, if there is one. Many
// editors show no other way.
func (a actions) cancelOffer(id string) []offered {
	session := a.sessions.byID(id)
	if session == nil || !session.Running() {
		return nil
	}
	args := protocol.SessionArgs{SessionID: session.ID()}
	return []offered{{title: protocol.TitleCancel, kind: lsp.CodeActionKindRefactor, command: protocol.CommandCancel, args: args}}
}

// wanted tells whether a kind is among those asked for; a kind covers its
// sub-kinds.
func wanted(only []lsp.CodeActionKind, kind lsp.CodeActionKind) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(o lsp.CodeActionKind) bool {
		return o == "" || o == kind || strings.HasPrefix(string(kind), string(o)+".")
	})
}

// around widens a bare cursor to the diagnostics at its position.
func around(at protocol.Range, found []lsp.Diagnostic) *protocol.Range {
	for _, d := range found {
		if before(protocol.Position(d.Range.Start), at.Start) {
			at.Start = protocol.Position(d.Range.Start)
		}
		if before(at.End, protocol.Position(d.Range.End)) {
			at.End = protocol.Position(d.Range.End)
		}
	}
	return &at
}

func before(a, b protocol.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

func diagnosticsOf(found []lsp.Diagnostic) []protocol.Diagnostic {
	list := make([]protocol.Diagnostic, 0, len(found))
	for _, d := range found {
		source, _ := d.Source.Get()
		list = append(list, protocol.Diagnostic{
			Range:    protocol.Range{Start: protocol.Position(d.Range.Start), End: protocol.Position(d.Range.End)},
			Severity: int(d.Severity), Source: source, Message: messageOf(d.Message),
		})
	}
	return list
}

func messageOf(m lsp.InlayHintTooltip) string {
	switch m := m.(type) {
	case lsp.String:
		return string(m)
	case *lsp.MarkupContent:
		return m.Value
	}
	return ""
}

// codeLens puts “Send to Hermes” over the prompt of a chat.
func (a actions) codeLens(_ context.Context, p *lsp.CodeLensParams) (any, error) {
	u := p.TextDocument.URI
	doc, open := a.editor.Documents.Text(u)
	if !open || !a.isChat(u) {
		return jsonrpc2.RawMessage("[]"), nil
	}
	line, ok := chat.PromptLine(doc.Text)
	if !ok {
		return jsonrpc2.RawMessage("[]"), nil
	}
	args, err := json.Marshal(protocol.ChatSendArgs{TextDocument: protocol.TextDocument{URI: string(u)}})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", protocol.CommandChatSend, err)
	}
	at := lsp.Position{Line: line}
	lens := []lsp.CodeLens{{
		Range:   lsp.Range{Start: at, End: lsp.Position{Line: line, Character: uint32(len(chat.HeadingYou))}},
		Command: lsp.Command{Title: protocol.TitleSend, Command: protocol.CommandChatSend, Arguments: []lsp.LSPAny{args}},
	}}
	body, err := lsp.Marshal(lens)
	return jsonrpc2.RawMessage(body), err
}

// isChat reports whether a document is one of the workspace's chats.
func (a actions) isChat(u uri.URI) bool {
	_, ok := a.chats.path(u)
	return ok
}
