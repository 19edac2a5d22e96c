package openai

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// Quirks: rejected parameters, and nativeCalls.
const (
	noUsage      api.Quirks = 1 << iota // stream_options
	padded                              // stream_options.include_obfuscation
	noEffort                            // reasoning_effort
	effortNone                          // tools only with reasoning_effort "none"
	noCacheKey                          // prompt_cache_key
	otherLimit                          // swaps max_tokens and max_completion_tokens
	alternate                           // joins a user message to a preceding user message or tool result
	noChoice                            // tool_choice
	noMarks                             // cache_control
	nativeCalls                         // the model made native calls
	emptyContent                        // content beside calls: "" instead of null
	nullContent                         // content beside calls: null, because "" was refused, too
	onlyCalls                           // no text beside calls
	nineID                              // call ids consist of nine letters and digits
	shortIDs                            // call ids have no meaning for the endpoint
	opensThought                        // the prompt opens a thought, so responses contain only its end
	plainStart                          // the prompt opens no thought, despite the model's name, template or first words
	noSystem                            // no system message: its text begins the first user message
)

// Adapt implements [api.API].
func (API) Adapt(req *model.Request, t *api.Target, e *model.Error) bool {
	before := t.Quirks
	if wantsAlternation(e) {
		t.Quirks |= alternate
		return t.Quirks != before
	}
	if refusesSystem(e) && t.Quirks&noSystem == 0 {
		t.Quirks |= noSystem
		return true
	}
	if ofHistory(e) {
		if set, unset := ofCalls(req, t, e.Message); set != 0 {
			t.Quirks = t.Quirks&^unset | set
			return t.Quirks != before
		}
	}
	if e.Status != 400 && e.Status != 422 {
		return false
	}
	said := func(name string) bool { return strings.Contains(e.Message, name) }
	switch {
	case said("include_obfuscation"):
		t.Quirks |= padded
	case said("stream_options") || said("include_usage"):
		t.Quirks |= noUsage
	case said("cache_control"):
		t.Quirks |= noMarks
	case said("prompt_cache_key"):
		t.Quirks |= noCacheKey
	case req.NoCalls && said("tool_choice"):
		t.Quirks |= noChoice
	case t.Limit(req) > 0 && (said("max_tokens") || said("max_completion_tokens")) && api.RefusesParameter(e.Message):
		t.Quirks |= otherLimit
	case said("reasoning_effort") && said("none") && len(req.Tools) > 0 && t.Quirks&noEffort == 0:
		t.Quirks |= effortNone
	case said("reasoning_effort"):
		if req.Effort != "" || t.Quirks&effortNone != 0 {
			t.Quirks |= noEffort
		}
		t.Quirks &^= effortNone
	}
	return t.Quirks != before
}

// ofCalls returns the quirks to set and to clear after an endpoint refused the form of calls in
// the history: their ids, or the content beside them. For other refusals, set is 0.
func ofCalls(req *model.Request, t *api.Target, message string) (set, unset api.Quirks) {
	text := strings.ToLower(message)
	calls, empty, beside := callsIn(req)
	has := func(q api.Quirks) bool { return t.Quirks&q != 0 }
	said := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case !calls:
		return 0, 0
	case said("length of 9", "length 9", "9 characters") && said("id"):
		return nineID, 0
	case !has(shortIDs) && said("tool_call_id", "tool call id", "].id", ".id:") && said("too long", "pattern", "at most", "maximum length"):
		return shortIDs, 0
	case beside && !has(onlyCalls) && said("not both") && said("content"):
		return onlyCalls, 0
	case !empty || has(nullContent) || !said("content", "not a string: null"):
		return 0, 0
	case !has(emptyContent) && said("null", "none", "nil", "string", "required", "missing", "must be", "should be", "expected"):
		return emptyContent, 0
	case has(emptyContent) && said("empty", "blank", "at least", "min_length", "minimum length", "too short"):
		return nullContent, emptyContent
	}
	return 0, 0
}

// callsIn reports whether a request contains calls, and calls without and with text beside
// them.
func callsIn(req *model.Request) (calls, empty, beside bool) {
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != model.Assistant || !m.Has(model.CallType) {
			continue
		}
		calls = true
		if m.Text() == "" {
			empty = true
		} else {
			beside = true
		}
	}
	return calls, empty, beside
}

// ofHistory reports whether a refusal with this status can be about the messages. Local servers
// refuse them with status 500, or with an event, which has no status.
func ofHistory(e *model.Error) bool {
	return e.Status == 0 || e.Status == 400 || e.Status == 422 || e.Status == 500
}

// wantsAlternation reports whether an endpoint accepts a user message only after an
// assistant message. The template of a local model often requires this.
func wantsAlternation(e *model.Error) bool {
	text := strings.ToLower(e.Message)
	return ofHistory(e) &&
		(strings.Contains(text, "roles must alternate") || strings.Contains(text, "after role") || strings.Contains(text, "must alternate between"))
}

// refusesSystem reports whether an endpoint refused the system message. Some models' templates
// support none.
func refusesSystem(e *model.Error) bool {
	if !ofHistory(e) {
		return false
	}
	text := strings.ToLower(e.Message)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	return has("system", "developer") && has("role", "message", "prompt", "instruction") &&
		has("not support", "unsupported", "not enabled", "not allowed", "not permitted") || has("only user and assistant", "only user, assistant")
}
