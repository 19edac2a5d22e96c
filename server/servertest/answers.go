package servertest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// request answers the server as an editor does.
func (e *Editor) request(f Frame) {
	e.mu.Lock()
	silent, before := e.silent[f.Method] > 0, e.before
	e.silent[f.Method]--
	e.mu.Unlock()
	if silent {
		return
	}
	if f.Method == "workspace/configuration" && e.o.SettingsAfter > 0 {
		time.AfterFunc(e.o.SettingsAfter, func() { e.respond(f, before) })
		return
	}
	if e.o.Slow > 0 {
		time.AfterFunc(e.o.Slow, func() { e.respond(f, before) })
		return
	}
	if (f.Method == "window/showMessageRequest" || f.Method == acp.MethodRequestPermission) && !e.o.Modal { // the user takes time, and the editor does not wait
		go e.respond(f, before)
		return
	}
	e.respond(f, before)
}

func (e *Editor) respond(f Frame, before func(uri.URI)) {
	result, failure := e.answer(f, before)
	if err := e.conn.reply(f.ID, result, failure); err != nil {
		e.t.Logf("answering %s: %v", f.Method, err) // the server has gone
	}
}

func (e *Editor) answer(f Frame, before func(uri.URI)) (any, *RPCError) {
	switch f.Method {
	case "workspace/applyEdit":
		return e.applyEdit(f.Params, before)
	case acp.MethodReadTextFile, acp.MethodWriteTextFile:
		return e.file(f)
	case "window/showMessageRequest":
		return e.question(f.Params)
	case acp.MethodRequestPermission:
		return e.permission(f.Params)
	case "window/showDocument":
		return e.showDocument(f.Params)
	case "window/workDoneProgress/create":
		return nil, nil
	case acp.MethodDiagnostics:
		var p acp.DiagnosticsRequest
		if err := json.Unmarshal(f.Params, &p); err != nil || e.o.Diagnose == nil {
			return nil, &RPCError{Code: -32602, Message: "no such method"}
		}
		return acp.DiagnosticsResponse{Diagnostics: e.o.Diagnose(p.URI, p.Wait)}, nil
	case "workspace/configuration":
		return []any{e.o.Settings}, nil
	}
	return nil, &RPCError{Code: -32601, Message: "the editor knows no " + f.Method}
}

// file returns the user's visible text, or writes a file and its document.
func (e *Editor) file(f Frame) (any, *RPCError) {
	var p struct{ Path, Content string }
	if err := json.Unmarshal(f.Params, &p); err != nil {
		return nil, &RPCError{Code: -32602, Message: err.Error()}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	doc := e.docs[e.URI(p.Path)]
	if f.Method == acp.MethodReadTextFile {
		if doc != nil {
			return acp.ReadTextFileResponse{Content: doc.text}, nil
		}
		text, err := os.ReadFile(p.Path)
		if err != nil {
			return nil, &RPCError{Code: acp.CodeUnknownResource, Message: "no such file"}
		}
		return acp.ReadTextFileResponse{Content: string(text)}, nil
	}
	if err := os.WriteFile(p.Path, []byte(p.Content), 0o644); err != nil {
		return nil, &RPCError{Code: acp.CodeInternal, Message: err.Error()}
	}
	if doc != nil {
		doc.text, doc.disk, doc.unsaved = p.Content, p.Content, false
	}
	return acp.WriteTextFileResponse{}, nil
}

type wireEdit struct {
	Range struct {
		Start, End struct{ Line, Character int }
	}
	NewText string
}

func (e *Editor) applyEdit(params json.RawMessage, before func(uri.URI)) (any, *RPCError) {
	var p struct {
		Save bool
		Edit struct {
			Changes         map[uri.URI][]wireEdit
			DocumentChanges []struct {
				TextDocument struct {
					URI     uri.URI
					Version *int32
				}
				Edits []wireEdit
			}
		}
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &RPCError{Code: -32602, Message: err.Error()}
	}
	if len(p.Edit.DocumentChanges) != 1 || p.Edit.Changes != nil {
		return refused("one versioned documentChange was expected"), nil
	}
	change := p.Edit.DocumentChanges[0]
	if before != nil {
		before(change.TextDocument.URI)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	doc := e.docs[change.TextDocument.URI]
	if e.edits.refuse > 0 {
		e.edits.refuse--
		return refused("the user is typing"), nil
	}
	if doc == nil || change.TextDocument.Version == nil || *change.TextDocument.Version != doc.version {
		return refused("the document has changed"), nil
	}
	var spans []span
	for _, edit := range change.Edits {
		start := e.units.offset(doc.text, edit.Range.Start.Line, edit.Range.Start.Character)
		end := e.units.offset(doc.text, edit.Range.End.Line, edit.Range.End.Character)
		spans = append(spans, span{start, end, edit.NewText})
	}
	e.change(change.TextDocument.URI, doc, spans, true)
	return e.edits.saved(change.TextDocument.URI, doc, p.Save), nil
}

// edits says how the editor answers edits.
type edits struct {
	refuse int     // how many are still to be refused
	saves  *string // set: they are saved as by our plugins, unless it has a reason why not
}

// saved saves an edited document if our plugin would, and returns the result of the edit.
func (x edits) saved(u uri.URI, doc *buffer, save bool) any {
	switch {
	case x.saves == nil || !save:
		return map[string]any{"applied": true}
	case *x.saves != "":
		return map[string]any{"applied": true, "failureReason": *x.saves, "notSaved": true}
	}
	if err := os.WriteFile(u.FsPath(), []byte(doc.text), 0o644); err != nil {
		return map[string]any{"applied": true, "failureReason": err.Error(), "notSaved": true}
	}
	doc.disk, doc.unsaved = doc.text, false
	return map[string]any{"applied": true}
}

func refused(why string) any { return map[string]any{"applied": false, "failureReason": why} }

// labels are how the options of an approval request begin, by their ids.
var labels = map[string]string{"once": "Allow once", "session": "Allow for this session", "always": "Always allow", "no": "Deny"}

func (e *Editor) question(params json.RawMessage) (any, *RPCError) {
	var p struct {
		Message string
		Actions []struct{ Title string }
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &RPCError{Code: -32602, Message: err.Error()}
	}
	q := Question{Message: p.Message}
	for _, a := range p.Actions {
		q.Actions = append(q.Actions, a.Title)
	}
	e.mu.Lock()
	e.asked = append(e.asked, q)
	choose := e.choose
	e.thinking++
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.thinking--
		e.mu.Unlock()
	}()
	if choose == nil {
		return nil, nil
	}
	word := choose(q)
	if label := labels[word]; label != "" {
		word = label
	}
	if word == "error" {
		return nil, &RPCError{Code: -32601, Message: "no such method"}
	}
	for _, title := range q.Actions {
		if word != "" && strings.HasPrefix(title, word) {
			return map[string]any{"title": title}, nil
		}
	}
	if word == "" {
		return nil, nil
	}
	return map[string]any{"title": word}, nil
}

// permission answers an approval request of the Agent Client Protocol as question does.
func (e *Editor) permission(params json.RawMessage) (any, *RPCError) {
	var p acp.RequestPermissionRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &RPCError{Code: -32602, Message: err.Error()}
	}
	q := Question{Message: p.ToolCall.Title}
	for _, o := range p.Options {
		q.Actions = append(q.Actions, o.Name)
	}
	e.mu.Lock()
	e.asked = append(e.asked, q)
	choose := e.choose
	e.mu.Unlock()
	outcome := acp.PermissionOutcome{Outcome: acp.OutcomeCancelled}
	if choose != nil {
		word := choose(q)
		for _, o := range p.Options {
			if word != "" && (o.OptionID == word || strings.HasPrefix(o.Name, word)) {
				outcome = acp.PermissionOutcome{Outcome: acp.OutcomeSelected, OptionID: o.OptionID}
			}
		}
	}
	return acp.RequestPermissionResponse{Outcome: outcome}, nil
}

// showDocument opens the document shown by the server. As some editors do, it rejects a place
// outside of it, and counts no line after the last line end.
func (e *Editor) showDocument(params json.RawMessage) (any, *RPCError) {
	var p struct {
		URI       uri.URI
		Selection *protocol.Range
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &RPCError{Code: -32602, Message: err.Error()}
	}
	e.mu.Lock()
	e.shown = append(e.shown, string(p.URI))
	doc := e.docs[p.URI]
	e.mu.Unlock()
	if doc == nil {
		text, err := os.ReadFile(p.URI.FsPath())
		if err != nil {
			return map[string]any{"success": false}, nil
		}
		e.OpenText(string(p.URI), string(text))
	}
	if at := p.Selection; at != nil {
		e.mu.Lock()
		text := e.docs[p.URI].text
		e.mu.Unlock()
		if last := strings.Count(strings.TrimSuffix(text, "\n"), "\n"); e.o.Behind || int(max(at.Start.Line, at.End.Line)) > last {
			if !e.o.Behind {
				e.t.Errorf("the selection %+v is outside of %s, whose last line is %d", *at, p.URI, last)
			}
			return nil, &RPCError{Code: -32603, Message: "Invalid cursor line: out of range"}
		}
	}
	return map[string]any{"success": true}, nil
}

func (e *Editor) note(f Frame) {
	switch f.Method {
	case "$/progress":
		var p struct {
			Token any
			Value Progress
		}
		if err := json.Unmarshal(f.Params, &p); err != nil {
			e.t.Errorf("a progress %s: %v", f.Params, err)
			return
		}
		p.Value.Token = fmt.Sprint(p.Token)
		e.mu.Lock()
		e.progress = append(e.progress, p.Value)
		e.mu.Unlock()
	case "window/showMessage":
		var p struct{ Message string }
		if err := json.Unmarshal(f.Params, &p); err != nil {
			e.t.Errorf("a message %s: %v", f.Params, err)
			return
		}
		e.mu.Lock()
		e.messages = append(e.messages, p.Message)
		e.mu.Unlock()
	}
}
