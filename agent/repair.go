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

// Messages that correct common mistakes of models.
const (
	nudge = "Your last reply was empty. Answer in text, or call a tool to go on."

	cutText = "%s was not run: your reply reached its length limit before the call's arguments were complete. " +
		"Nothing was changed. Do it in smaller pieces: write a shorter part now and add the rest with further calls."

	repeatedText = "This is the same call with the same result, %d times now. Doing it again will not help: " +
		"use what you have, try something else, or tell the user what is missing."

	stoppedText = "I stopped here: I made the same call of %s %d times and got the same result each time. " +
		"Tell me how you would like to go on."

	repeatsTell = 3 // from this count on, the result has a note for the model
	repeatsStop = 5 // at this count, the turn ends
)

// callsOf prepares the calls of a response. Each gets an id that no other call of the
// session has, and arguments that every endpoint accepts.
func (t *turn) callsOf(reply *model.Reply) []*call {
	var calls []*call
	used := map[string]bool{}
	for _, c := range reply.Calls {
		id := uniqueID(c.ID, func(id string) bool { return used[id] || t.history.ids[id] || t.compactedCall(id) })
		used[id] = true
		ready := &call{
			Call: tools.Call{ID: id, Name: strings.TrimSpace(c.Name), Args: json.RawMessage(c.Args)},
			cut:  reply.Finish == model.FinishLength && !isObject(c.Args),
		}
		if !ready.cut {
			ready.Call, _ = t.toolset().Resolve(ready.Call, offers(t.head)) // dispatch reports a failure
		}
		ready.logged = loggedArgs(string(ready.Args), ready.cut)
		ready.tool, _ = t.toolset().Get(ready.Name)
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

// loggedArgs returns the arguments that later requests repeat. They are always one JSON
// object, because an endpoint may reject others. The call's result has the error.
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

// repeats detects a turn that repeats its calls. Each new call or result resets the
// counts, because tests may run after each edit and fail in the same way each time.
type repeats struct {
	counts map[[sha256.Size]byte]int
	stuck  string // the tool that was called too often
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
