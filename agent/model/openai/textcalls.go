package openai

import (
	"regexp"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Values of Endpoint.TextCalls besides "auto".
const (
	TextCallsNever  = "never"
	TextCallsAlways = "always"
)

// ourID matches the generated ids of calls that had none. All calls that were read from
// text have such an id (see [model.Reply]).
var ourID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^call_\d+(_\d+)*$`) })

// readsTextCalls reports whether a tool call that the model writes as text is a tool call.
// Such text can also be a quotation. So it is text after the model, or the session, has
// made a native call. OpenAI's own models always make native calls.
func (e *endpoint) readsTextCalls(req *model.Request) bool {
	switch {
	case len(req.Tools) == 0 || req.NoCalls || e.TextCalls == TextCallsNever:
		return false
	case e.TextCalls == TextCallsAlways:
		return true
	case e.Provider == "openai" || e.native():
		return false
	}
	for i := range req.Messages {
		for _, p := range req.Messages[i].Parts {
			if p.Type == model.CallType && !ourID().MatchString(p.Call.ID) {
				return false
			}
		}
	}
	return true
}

func (e *endpoint) native() bool {
	e.learned.Lock()
	defer e.learned.Unlock()
	return e.learned.native[e.Model]
}

// hasNativeCalls records that the model has made a native call.
func (e *endpoint) hasNativeCalls() {
	e.learned.Lock()
	defer e.learned.Unlock()
	if e.learned.native == nil {
		e.learned.native = map[string]bool{}
	}
	e.learned.native[e.Model] = true
}
