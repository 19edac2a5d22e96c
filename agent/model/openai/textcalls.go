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

// readsTextCalls reports whether to run tool calls written as text. Such text can also be a
// quotation. So it stays text after a native call of the model or the session. OpenAI's own
// models always make native calls. If the tools are text, calls are, too.
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
