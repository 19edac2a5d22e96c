package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Mistakes of real models, and the answers to them.
const (
	nudge = "Your last reply was empty. Answer in text, or call a tool to go on."

	cutText = "%s was not run: your reply reached its length limit before the call's arguments were complete. " +
		"Nothing was changed. Do it in smaller pieces: write a shorter part now and add the rest with further calls."

	repeatedText = "This is the same call with the same result, %d times now. Doing it again will not help: " +
		"use what you have, try something else, or tell the user what is missing."

	stoppedText = "I stopped here: I made the same call of %s %d times and got the same result each time. " +
		"Tell me how you would like to go on."

	repeatsTell = 3 // from here on the model is told
	repeatsStop = 5 // here the turn ends
)

// callsOf makes the calls of a reply ready: each with an id that no other call of
// the session has, and arguments that every endpoint takes back.
func (t *turn) callsOf(reply *model.Reply) []*call {
	var calls []*call
	used := map[string]bool{}
	for _, c := range reply.Calls {
		id := uniqueID(c.ID, func(id string) bool { return used[id] || t.history.ids[id] || t.compactedCall(id) })
		used[id] = true
		name := strings.TrimSpace(c.Name)
		ready := &call{
			Call: tools.Call{ID: id, Name: name, Args: json.RawMessage(c.Args)},
			cut:  reply.Finish == model.FinishLength && !isObject(c.Args),
		}
		ready.logged = loggedArgs(c.Args, ready.cut)
		ready.tool, _ = t.toolset().Get(name)
		calls = append(calls, ready)
	}
	return calls
}

func uniqueID(id string, taken func(string) bool) string {
	base := id
	if base == "" {
		base, id = "call", "call_1"
	}
	for n := 2; taken(id); n++ {
		id = fmt.Sprintf("%s_%d", base, n)
	}
	return id
}

// loggedArgs returns the arguments that later requests repeat: always one JSON object,
// because an endpoint may reject others. The result of the call says which error there
// was.
func loggedArgs(args string, cut bool) string {
	if cut {
		return "{}"
	}
	object, err := tools.RepairArgs(args)
	if err != nil {
		return "{}"
	}
	return string(object)
}

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}

// repeats detects a turn that repeats itself. Each new call or result resets the counts:
// tests may run after each edit and fail the same way each time.
type repeats struct {
	counts map[[sha256.Size]byte]int
	stuck  string // the tool that has been called too often
}

// count returns how often the call had the same result since the last reset.
func (r *repeats) count(c *call) int {
	key := sha256.Sum256(bytes.Join([][]byte{[]byte(c.Name), c.Args, c.result.JSON}, []byte{0}))
	if r.counts == nil {
		r.counts = map[[sha256.Size]byte]int{}
	}
	if r.counts[key] == 0 {
		for known := range r.counts {
			r.counts[known] = 1
		}
	}
	r.counts[key]++
	if r.counts[key] >= repeatsStop {
		r.stuck = c.Name
	}
	return r.counts[key]
}

func (r *repeats) over() (tool string, over bool) { return r.stuck, r.stuck != "" }

// withNote adds a note to a result, after the one that it may already have.
func withNote(object json.RawMessage, note string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return object // cannot be: dispatch gives objects only
	}
	if have, ok := fields["note"]; ok {
		var before string
		if json.Unmarshal(have, &before) == nil {
			note = before + " " + note
		}
		fields["note"] = plainJSON(note)
		return plainJSON(fields)
	}
	body := bytes.TrimSpace(object)
	body = bytes.TrimSpace(body[:len(body)-1]) // less the brace
	comma := ","
	if len(fields) == 0 {
		comma = ""
	}
	return fmt.Appendf(nil, `%s%s"note":%s}`, body, comma, plainJSON(note))
}

// plainJSON is json.Marshal that leaves <, > and & as they are: the model pays for
// every escape.
func plainJSON(v any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // cannot be: strings, and JSON that has been parsed
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
