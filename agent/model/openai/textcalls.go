package openai

import (
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// Values of [api.Target.TextCalls] besides "auto".
const (
	TextCallsNever  = "never"
	TextCallsAlways = "always"
)

// readsTextCalls reports whether a tool call that the model writes as text is a tool call.
// Such text can also be a quotation. So it is text after the model, or the session, has
// made a native call. OpenAI's own models always make native calls. If the tools are text, calls are, too.
func readsTextCalls(req *model.Request, t *api.Target) bool {
	switch {
	case len(req.Tools) == 0 || req.NoCalls || t.TextCalls == TextCallsNever:
		return false
	case t.TextCalls == TextCallsAlways, t.TextTools:
		return true
	case t.Provider == "openai" || t.Quirks&nativeCalls != 0:
		return false
	}
	for i := range req.Messages {
		for _, p := range req.Messages[i].Parts {
			if p.Type == model.CallType && !model.IsOwnID(p.Call.ID) {
				return false
			}
		}
	}
	return true
}
