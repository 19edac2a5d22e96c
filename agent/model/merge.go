package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Reply is a whole response, merged from deltas. The zero value is ready to use. After the
// first call of [Reply.Add], it must not be copied.
//
// Pieces of a call are merged as providers send them. They belong to a call by index, or
// by id if the index does not decide. Names may arrive split or repeated. Some providers
// repeat the whole arguments. Some restart index 0 for every call with a new id.
type Reply struct {
	Text      string
	Reasoning string
	Calls     []Call
	Usage     Usage
	Finish    Finish
	Model     string
	Answered  string
	Refusal   string

	// CallsBefore is the number of calls in the session before this response. A call without
	// an id gets the id "call_N", numbered from there.
	CallsBefore int

	text, reasoning strings.Builder
	pieces          []*pieces // beside Calls
	parts           []partStart
}

// partStart is the start of a part of the response.
type partStart struct {
	kind  PartType
	at    int // in Text or Reasoning, or the index in Calls
	state *State
}

// SetText replaces the text of the response. It stands where its first text stood.
func (r *Reply) SetText(text string) {
	r.Text = text
	r.text.Reset()
	r.text.WriteString(text)
	found := false
	r.parts = slices.DeleteFunc(r.parts, func(p partStart) bool {
		again := found && p.kind == TextType
		found = found || p.kind == TextType
		return again
	})
}

// Parts returns the parts of the response in order of arrival.
func (r *Reply) Parts() []Part {
	parts := make([]Part, len(r.parts))
	end := map[PartType]int{TextType: len(r.Text), ReasoningType: len(r.Reasoning)}
	for i, p := range slices.Backward(r.parts) {
		parts[i] = Part{Type: p.kind, State: p.state}
		switch p.kind {
		case TextType:
			parts[i].Text = r.Text[p.at:end[p.kind]]
		case ReasoningType:
			parts[i].Text = r.Reasoning[p.at:end[p.kind]]
		case CallType:
			if p.at < len(r.Calls) { // otherwise they were removed
				parts[i].Call = r.Calls[p.at]
			}
		}
		end[p.kind] = p.at
	}
	return parts
}

// start starts a part of the kind at a place. If again is false, and the newest part is of this
// kind without state, it continues.
func (r *Reply) start(kind PartType, at int, again bool) {
	if n := len(r.parts); !again && n > 0 && r.parts[n-1].kind == kind && r.parts[n-1].state == nil {
		return
	}
	r.parts = append(r.parts, partStart{kind: kind, at: at})
}

// begin starts the parts for the pieces in a delta.
func (r *Reply) begin(d Delta) {
	if d.Reasoning != "" || d.Begin == ReasoningType {
		r.start(ReasoningType, r.reasoning.Len(), d.Begin == ReasoningType)
	}
	if d.Text != "" || d.Begin == TextType {
		r.start(TextType, r.text.Len(), d.Begin == TextType)
	}
}

// complete adds a state to a call or to the newest part.
func (r *Reply) complete(call int, state *State) {
	for i := range slices.Backward(r.parts) {
		if call < 0 || r.parts[i].kind == CallType && r.parts[i].at == call {
			r.parts[i].state = state
			return
		}
	}
}

// wasThought turns the text so far into a thought.
func (r *Reply) wasThought() {
	thought := r.Reasoning + r.Text
	r.text.Reset()
	r.reasoning.Reset()
	r.reasoning.WriteString(thought)
	r.Text, r.Reasoning = "", thought
	r.parts = slices.DeleteFunc(r.parts, func(p partStart) bool { return p.kind != CallType })
	r.parts = slices.Insert(r.parts, 0, partStart{kind: ReasoningType})
}

// Add takes the next delta. Text, Reasoning and Calls are then up to date. Ids and arguments of
// calls are final once Finish is set. If there are more than MaxCalls calls, Add returns an
// [*Error].
func (r *Reply) Add(d Delta) error {
	if d.Restart {
		*r = Reply{CallsBefore: r.CallsBefore}
	}
	if d.WasThought {
		r.wasThought()
	}
	r.begin(d)
	if d.Text != "" {
		r.text.WriteString(d.Text)
		r.Text = r.text.String()
	}
	if d.Reasoning != "" {
		r.reasoning.WriteString(d.Reasoning)
		r.Reasoning = r.reasoning.String()
	}
	call := -1
	if d.Call != nil {
		call = r.addCall(d.Call)
	}
	if d.State != nil {
		r.complete(call, d.State)
	}
	if d.Usage != nil {
		r.Usage = *d.Usage
	}
	if d.Model != "" {
		r.Model = d.Model
	}
	if d.Finish != "" {
		r.Finish, r.Answered, r.Refusal = d.Finish, d.Answered, d.Refusal
		r.finalize()
	}
	if len(r.Calls) > MaxCalls {
		return endless("more than %d tool calls came; none of them was run", MaxCalls)
	}
	return nil
}

// pieces is an incomplete call.
type pieces struct {
	index int
	id    string
	name  string
	args  strings.Builder
	last  string // the last piece of arguments
	looks int    // checks for a complete object in args
	grows bool   // every piece so far began with the previous piece: snapshots, perhaps
}

// addCall adds a piece of a call and returns the index of the call.
func (r *Reply) addCall(c *CallDelta) int {
	i := r.find(c)
	if i < 0 || r.pieces[i].followedBy(c) {
		i = len(r.pieces)
		r.pieces = append(r.pieces, &pieces{index: c.Index})
		r.Calls = append(r.Calls, Call{})
		r.start(CallType, i, true)
	}
	p := r.pieces[i]
	p.add(c)
	r.Calls[i] = Call{ID: p.id, Name: p.name, Args: p.args.String()}
	return i
}

// find returns the newest call to which c may belong, or -1.
func (r *Reply) find(c *CallDelta) int {
	for i := len(r.pieces) - 1; i >= 0; i-- {
		if c.Index >= 0 && r.pieces[i].index == c.Index {
			return i
		}
	}
	for i := len(r.pieces) - 1; i >= 0; i-- {
		if c.ID != "" && r.pieces[i].id == c.ID {
			return i
		}
	}
	if c.ID == "" && (c.Index < 0 || c.Name == "") {
		return len(r.pieces) - 1 // the newest call, however the index moves
	}
	return -1
}

// followedBy reports whether c is another call, although it came at the same index or with the
// same id.
func (p *pieces) followedBy(c *CallDelta) bool {
	if c.ID != "" && c.ID == p.id {
		return c.Index >= 0 && c.Index != p.index && c.Name != "" && p.whole()
	}
	if c.ID != "" && p.id != "" {
		return c.Name != "" || p.whole()
	}
	if c.Name == "" || p.name == "" || !p.whole() {
		return false
	}
	return c.Name != p.name || (c.Args != p.args.String() && wholeObject(c.Args))
}

func (p *pieces) add(c *CallDelta) {
	if p.id == "" {
		p.id = c.ID
	}
	p.addName(c.Name)
	if c.Args == "" {
		return
	}
	p.grows = strings.HasPrefix(c.Args, p.last) && (p.grows || p.last == "")
	p.last = c.Args
	if c.Args[0] == '{' && p.whole() && wholeObject(c.Args) {
		p.args.Reset() // repeated as a whole
	}
	p.args.WriteString(c.Args)
}

func (p *pieces) addName(name string) {
	switch {
	case name == "" || name == p.name:
	case strings.HasPrefix(name, p.name): // the first, or the name so far and more
		p.name = name
	case p.args.Len() == 0:
		p.name += name
	}
}

// finalize gives every call its final arguments and a unique id.
func (r *Reply) finalize() {
	used := make(map[string]bool, len(r.Calls))
	for i, p := range r.pieces {
		c := &r.Calls[i]
		if p.grows && !json.Valid([]byte(c.Args)) && json.Valid([]byte(p.last)) {
			c.Args = p.last
		}
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", r.CallsBefore+i+1)
		}
		for id, n := c.ID, 2; used[c.ID]; n++ {
			c.ID = fmt.Sprintf("%s_%d", id, n)
		}
		used[c.ID] = true
	}
}

// mostLooks limits the complete parses of the arguments of a call.
const mostLooks = 200

// whole reports whether the arguments so far are a complete JSON object.
func (p *pieces) whole() bool {
	if p.args.Len() > 64<<10 {
		p.looks++
	}
	return p.looks <= mostLooks && wholeObject(p.args.String())
}

// wholeObject reports whether s is a complete JSON object.
func wholeObject(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) >= 2 && s[0] == '{' && s[len(s)-1] == '}' && json.Valid([]byte(s))
}
