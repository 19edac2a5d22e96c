package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// writeStep adds the messages since the last step to the transcript. Different kinds of messages
// race with each other, so a step's messages are sorted by kind and keep their order within a kind.
// The steps of a progress and the edits of a chat depend on scheduling. They are omitted; text
// shows the result.
func (s *script) writeStep(n int, step string) {
	frames := s.editor.conn.seen()
	fresh := frames[s.written:]
	s.written = len(frames)
	type told struct{ lane, text string }
	var list []told
	for _, f := range fresh {
		if s.check != nil {
			s.check(s.t, false, f.raw)
		}
		if lane := laneOf(f); lane != "" {
			list = append(list, told{lane, s.line(f)})
		}
	}
	slices.SortStableFunc(list, func(a, b told) int { return strings.Compare(a.lane, b.lane) })
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(&s.transcript, "# %d %s\n", n, clip(step))
	for _, l := range list {
		s.transcript.WriteString(l.text + "\n")
	}
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// laneOf returns the sort key of a message. If it is "", the message is left out.
func laneOf(f Frame) string {
	switch {
	case f.Method == "":
		return "1 answer " + string(f.ID)
	case f.Method == "$/progress" && bytes.Contains(f.Params, []byte(`"kind":"report"`)):
		return ""
	case f.Method == "workspace/applyEdit" && bytes.Contains(f.Params, []byte(`"label":"Hermes"`)):
		return ""
	case f.Method == "$/progress":
		return "2 progress " + tokenOf(f)
	case f.Method == "window/workDoneProgress/create":
		return "2 create " + tokenOf(f)
	}
	return "3 " + f.Method
}

// tokenOf returns the token of a progress. Messages of several tokens race with each other.
func tokenOf(f Frame) string {
	var p struct{ Token any }
	_ = json.Unmarshal(f.Params, &p) // a frame without a token comes first
	return fmt.Sprint(p.Token)
}

// line returns a frame in the form of the transcript: without "jsonrpc", keys sorted, with names
// for values that differ between runs. Requests of the server have no id, because they share one
// counter.
func (s *script) line(f Frame) string {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(f.raw))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return err.Error()
	}
	delete(m, "jsonrpc")
	if f.Method != "" && f.ID != nil {
		m["id"] = "…"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return err.Error()
	}
	return s.names.hide(strings.TrimSpace(b.String()), s.o)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	fill  = regexp.MustCompile(`"used":\d+`) // of the window: an estimate, which depends on the words of the prompt
	slash = regexp.MustCompile(`"availableCommands":\[\{.*?\],"sessionUpdate"`)
	// The enforced limits depend on the host.
	bounds = regexp.MustCompile(`Sandbox: [^"\\\n]*[.…]`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
)

// names replaces varying values: $ROOT, $HERMES_HOME, $ID1, $ID2, …, $TIME.
type names struct{ ids []string }

func (n *names) hide(text string, o Options) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, o.Home, "$HERMES_HOME"), o.Root, "$ROOT")
	text = slash.ReplaceAllString(text, `"availableCommands":["…"],"sessionUpdate"`)
	text = times.ReplaceAllString(text, "$$TIME")
	text = bounds.ReplaceAllString(text, "Sandbox: $$SANDBOX.")
	text = fill.ReplaceAllString(text, `"used":$$N`)
	return uuids.ReplaceAllStringFunc(text, func(id string) string {
		i := slices.Index(n.ids, id)
		if i < 0 {
			n.ids, i = append(n.ids, id), len(n.ids)
		}
		return fmt.Sprintf("$ID%d", i+1)
	})
}

// fill replaces the names by their values.
func (n *names) fill(text string, o Options) string {
	for i := len(n.ids) - 1; i >= 0; i-- {
		text = strings.ReplaceAll(text, fmt.Sprintf("$ID%d", i+1), n.ids[i])
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "$HERMES_HOME", o.Home), "$ROOT", o.Root)
}
