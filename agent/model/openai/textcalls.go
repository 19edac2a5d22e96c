package openai

import (
	"regexp"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// Values of [api.Target.TextCalls] besides "auto".
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
func readsTextCalls(req *model.Request, t *api.Target) bool {
	switch {
	case len(req.Tools) == 0 || req.NoCalls || t.TextCalls == TextCallsNever:
		return false
	case t.TextCalls == TextCallsAlways:
		return true
	case t.Provider == "openai" || t.Quirks&nativeCalls != 0:
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
