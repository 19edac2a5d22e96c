package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/uri"
)

// sorter sorts messages of the server. It numbers sessions in the order in which they
// appear.
type sorter struct {
	mu       sync.Mutex
	sessions []string
}

// lane returns the kind of a message; "" leaves it out. Progress, the pieces of a chat's
// text, and the probes for lsp-mode depend on timing; the use of the context window depends
// on the model.
func (s *sorter) lane(f Frame) string {
	var p struct {
		SessionID string
		Update    struct{ SessionUpdate string }
	}
	_ = json.Unmarshal(f.Params, &p) // a frame without params is sorted by its method
	switch {
	case p.Update.SessionUpdate == "usage_update":
		return ""
	case f.Method == "workspace/workspaceFolders" && f.ID != nil:
		return ""
	case p.SessionID != "":
		return fmt.Sprintf("4 session %d %s %s", s.number(p.SessionID), f.Method, p.Update.SessionUpdate)
	}
	return laneOf(f)
}

func (s *sorter) number(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.sessions, id)
	if i < 0 {
		s.sessions, i = append(s.sessions, id), len(s.sessions)
	}
	return i
}

// chunk is a session/update with a piece of a text.
type chunk struct {
	Params struct {
		SessionID string
		Update    struct {
			MessageID string
			Content   struct{ Type, Text string }
		}
	}
}

func chunkOf(f Frame) (c chunk) {
	_ = json.Unmarshal(f.raw, &c) // another frame contains no text
	return c
}

func chunkText(f Frame) string { return chunkOf(f).Params.Update.Content.Text }

// joinChunks joins two pieces of the same text into a message.
func joinChunks(a, b Frame) (Frame, bool) {
	first, second := chunkOf(a), chunkOf(b)
	x, y := first.Params.Update, second.Params.Update
	if x.MessageID != y.MessageID || first.Params.SessionID != second.Params.SessionID ||
		x.Content.Type != "text" || y.Content.Type != "text" {
		return a, false
	}
	var m map[string]any
	if json.Unmarshal(a.raw, &m) != nil {
		return a, false
	}
	content, ok := m["params"].(map[string]any)["update"].(map[string]any)["content"].(map[string]any)
	if !ok {
		return a, false
	}
	content["text"] = x.Content.Text + y.Content.Text
	raw, err := json.Marshal(m)
	if err != nil {
		return a, false
	}
	a.raw = raw
	return a, true
}

// editedURI returns the document in an edit of the server. For all other messages, it returns
// false.
func editedURI(f Frame) (uri.URI, bool) {
	var p struct {
		Edit struct {
			DocumentChanges []struct {
				TextDocument struct{ URI uri.URI }
			}
		}
	}
	if f.Method != "workspace/applyEdit" || json.Unmarshal(f.Params, &p) != nil || len(p.Edit.DocumentChanges) == 0 {
		return "", false
	}
	return p.Edit.DocumentChanges[0].TextDocument.URI, true
}

// withoutProcess takes the process out of initialize: the editor of the recording is gone,
// and the server would end with it.
func withoutProcess(f Frame, text string) string {
	if f.Method != "initialize" {
		return text
	}
	var m map[string]json.RawMessage
	var params map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &m) != nil || json.Unmarshal(m["params"], &params) != nil || params["processId"] == nil {
		return text
	}
	params["processId"] = json.RawMessage("null")
	var err error
	if m["params"], err = json.Marshal(params); err != nil {
		return text
	}
	out, err := json.Marshal(m)
	if err != nil {
		return text
	}
	return string(out)
}

var (
	sizes     = regexp.MustCompile(`"(size|seconds|durationMs|createdAt|duration_seconds|pid)":[\d.]+`)
	isoTimes  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	shortTime = regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?\b`)
	took      = regexp.MustCompile(`\b\d+(\.\d+)? ?(ms|s)\b`)
)

// varying replaces values that differ between runs.
func varying(line, version string) string {
	line = sizes.ReplaceAllString(line, `"$1":$$N`)
	if version != "" {
		line = strings.ReplaceAll(line, `"version":"`+version+`"`, `"version":"$VERSION"`)
	}
	return strings.ReplaceAll(line, `"version":"test"`, `"version":"$VERSION"`)
}

func (p *player) hideTimes(text string) string {
	text = isoTimes.ReplaceAllString(text, "$$TIME")
	text = shortTime.ReplaceAllString(text, "$$TIME")
	return took.ReplaceAllString(text, "$$DURATION")
}

// document keeps the editor's documents as the recorded user changed them. It returns true if the
// message is the recorded client's report of an edit. This editor has already made and reported it.
func (p *player) document(f Frame) bool {
	var params struct {
		TextDocument   struct{ URI uri.URI }
		ContentChanges []json.RawMessage
	}
	if !strings.HasPrefix(f.Method, "textDocument/did") || json.Unmarshal(f.Params, &params) != nil {
		return false
	}
	u, e := params.TextDocument.URI, p.editor
	switch f.Method {
	case "textDocument/didOpen":
		var opened struct {
			TextDocument struct {
				Text    string
				Version int32
			}
		}
		_ = json.Unmarshal(f.Params, &opened) // was decoded before
		e.mu.Lock()
		e.docs[u] = &buffer{text: opened.TextDocument.Text, version: opened.TextDocument.Version, disk: opened.TextDocument.Text}
		e.mu.Unlock()
	case "textDocument/didClose":
		e.mu.Lock()
		delete(e.docs, u)
		e.mu.Unlock()
	case "textDocument/didSave":
		e.mu.Lock()
		doc := e.docs[u]
		e.mu.Unlock()
		if doc != nil {
			if err := os.WriteFile(u.FsPath(), []byte(doc.text), 0o644); err != nil {
				p.t.Error(err)
			}
		}
	case "textDocument/didChange":
		return p.changed(u, params.ContentChanges)
	}
	return false
}

// changed makes the editor apply a change of the recorded user and report it, in the current
// version.
func (p *player) changed(u uri.URI, changes []json.RawMessage) bool {
	for was := range p.echoes { // was recorded elsewhere
		if uri.URI(p.here(string(was))) == u && p.echoes[was] > 0 {
			p.echoes[was]--
			return true
		}
	}
	e := p.editor
	e.mu.Lock()
	defer e.mu.Unlock()
	doc := e.docs[u]
	if doc == nil {
		return false
	}
	for _, raw := range changes {
		var c struct {
			Range *struct{ Start, End struct{ Line, Character int } }
			Text  string
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			p.t.Fatal(err)
		}
		change := span{0, len(doc.text), c.Text}
		if c.Range != nil {
			change.start = e.units.offset(doc.text, c.Range.Start.Line, c.Range.Start.Character)
			change.end = e.units.offset(doc.text, c.Range.End.Line, c.Range.End.Character)
		}
		e.change(u, doc, []span{change}, false)
	}
	return true
}

// writeHome writes the files of $HERMES_HOME.
func (p *player) writeHome() {
	for _, f := range p.homeFiles {
		path := filepath.Join(p.o.Home, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Clone(f.Data), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}
