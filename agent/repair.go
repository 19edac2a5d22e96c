package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Messages that correct common mistakes of models.
const (
	nudge = "Your last reply was empty. Answer in text, or call a tool to go on."

	cutText = "%s was not run: your reply hit the output limit inside this call. " +
		"Nothing was changed. Do it in smaller pieces: write a shorter part now and add the rest with further calls."

	unnamedText = "this call has no name, so nothing was run. Repeat it with the name of one of the offered tools"

	repeatedText = "This is the same call with the same result, %d times now. Doing it again will not help: " +
		"use what you have, try something else, or tell the user what is missing."

	stoppedText = "hermes-ls ended the turn here, because %s. The user was told. Do not go on in the same way."
)

// callsOf prepares the calls of a response. Each gets an id unique in the session, and
// arguments that every endpoint accepts.
func (t *turn) callsOf(reply *model.Reply) []*call {
	var calls []*call
	used := map[string]bool{}
	for _, c := range reply.Calls {
		id := uniqueID(model.StoredID(c.ID), func(id string) bool {
			return used[id] || t.history.ids[id] || t.history.pairs.ids[id] || t.compactedCall(id)
		})
		used[id] = true
		ready := &call{
			Call: tools.Call{ID: id, Name: strings.TrimSpace(c.Name), Args: json.RawMessage(c.Args)},
			cut:  reply.Finish == model.FinishLength && !isObject(c.Args),
		}
		if !ready.cut {
			ready.Call, _ = t.toolset().Resolve(ready.Call, offers(t.head)) // dispatch reports a failure
		}
		t.soundName(ready)
		ready.logged = loggedArgs(string(ready.Args), ready.cut)
		ready.tool, _ = t.toolset().Get(ready.Name)
		calls = append(calls, ready)
	}
	return calls
}

// soundName gives a call to an unknown tool a name accepted by every API. The new name may
// match a tool.
func (t *turn) soundName(c *call) {
	if _, known := t.toolset().Get(c.Name); known || offers(t.head)(c.Name) {
		return
	}
	name := model.SoundName(c.Name)
	if name == c.Name {
		return
	}
	c.Name = name
	if !c.cut {
		c.Call, _ = t.toolset().Resolve(c.Call, offers(t.head))
	}
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

// loggedArgs returns the arguments as later requests repeat them: always a JSON object, because
// an endpoint may reject anything else. The call's result contains the error.
func loggedArgs(args string, cut bool) string {
	if cut {
		return emptyArgs
	}
	object, err := tools.RepairArgs(args)
	if err != nil {
		return emptyArgs
	}
	sound, ok := model.SoundArgs(string(object))
	if !ok {
		return emptyArgs
	}
	return sound
}

// emptyArgs replaces arguments that cannot be stored.
const emptyArgs = "{}"

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}
