package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

const (
	repeatsTell = 3 // from this count on, the result contains a note for the model
	repeatsStop = 5 // at this count, the turn ends
)

// repeats detects a turn that makes no progress. It compares calls and the outcomes of calls,
// not their texts. A new call or outcome resets the counts, because tests may fail in the same
// way after each edit.
type repeats struct {
	counts map[[sha256.Size]byte]int
	now    map[[sha256.Size]byte]bool // of the current response
	stuck  string                     // why the turn ends; empty: it continues

	kind   string // of the common error of the previous response's calls; empty: none
	streak int    // number of responses with it
}

// count counts the call. It returns the number of responses with the same call and outcome
// since the last reset.
func (r *repeats) count(c *call) int {
	key := sha256.Sum256(bytes.Join([][]byte{[]byte(c.Name), []byte(c.logged), outcomeOf(c)}, []byte{0}))
	if c.logged == emptyArgs { // broken arguments are not stored
		key = sha256.Sum256(bytes.Join([][]byte{[]byte(c.Name), c.Args, outcomeOf(c)}, []byte{0}))
	}
	if r.counts == nil {
		r.counts = map[[sha256.Size]byte]int{}
	}
	if r.counts[key] == 0 {
		for known := range r.counts {
			r.counts[known] = 1
		}
	}
	if r.now[key] {
		return r.counts[key] // repeated in the same response, before the model saw the result
	}
	if r.now == nil {
		r.now = map[[sha256.Size]byte]bool{}
	}
	r.now[key] = true
	r.counts[key]++
	if r.counts[key] >= repeatsStop {
		result := "result"
		if c.result.IsError {
			result = "kind of error"
		}
		r.stuck = fmt.Sprintf("the model made the same call of %s %d times and got the same %s", toldName(c.Name), repeatsStop, result)
	}
	return r.counts[key]
}

// toldName returns a tool name for a notice.
func toldName(name string) string {
	if name == model.Unnamed {
		return "a tool without a name"
	}
	return name
}

// response counts consecutive responses in which all calls failed with the same kind of error,
// even if the calls differ.
func (r *repeats) response(calls []*call) {
	r.now = nil
	kind := ""
	for i, c := range calls {
		own := c.Name + ": " + errorKind(c.result.JSON)
		if !c.result.IsError || c.interrupted || i > 0 && own != kind {
			r.kind, r.streak = "", 0
			return
		}
		kind = own
	}
	if kind != r.kind {
		r.kind, r.streak = kind, 0
	}
	if r.streak++; r.streak >= repeatsStop && r.stuck == "" {
		r.stuck = fmt.Sprintf("the calls of %s failed with the same kind of error in %d responses in a row", toldName(calls[0].Name), repeatsStop)
	}
}

// outcomeOf returns the stable part of a result: the kind of an error, or the result without
// fields that always differ.
func outcomeOf(c *call) []byte {
	if c.result.IsError {
		return []byte(errorKind(c.result.JSON))
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.result.JSON, &fields) != nil {
		return c.result.JSON
	}
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return slices.Contains(volatile, name) })
	return plainJSON(fields)
}

// volatile are fields whose values differ in each call.
var volatile = []string{"duration_seconds", "total_duration_seconds", "pid", "session_id", "started_at", "full_output", "full_errors", "full_result"}

// differing matches the parts of an error message that vary within a kind: quoted texts, paths
// and numbers.
var differing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\"[^\"]*\"|`[^`]*`|'[^']*'|“[^”]*”|[^\\s]*[./\\\\][^\\s]+|[0-9]+")
})

// errorKind returns the kind of an error: its first line, or the last line of a script's error
// output, without its variable parts.
func errorKind(result json.RawMessage) string {
	var r struct{ Error, Status, Errors string }
	if json.Unmarshal(result, &r) != nil {
		return string(result)
	}
	text, _, _ := strings.Cut(r.Error, "\n")
	if text == "" {
		lines := strings.Split(strings.TrimSpace(r.Errors), "\n")
		return r.Status + " " + lines[len(lines)-1] // an exception with its message
	}
	if first, _, more := strings.Cut(text, ". "); more {
		text = first
	}
	if strings.Contains(text, "since it was read") {
		return text // an error in another changed file is a new error
	}
	return differing().ReplaceAllString(text, "…")
}

// plainJSON encodes v. If v cannot be encoded, it returns nil.
func plainJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}
