package openai

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// Quirks: parameters that an endpoint has rejected, and nativeCalls.
const (
	noUsage     api.Quirks = 1 << iota // stream_options
	padded                             // stream_options.include_obfuscation
	noEffort                           // reasoning_effort
	effortNone                         // tools only with reasoning_effort "none"
	noCacheKey                         // prompt_cache_key
	otherLimit                         // swaps max_tokens and max_completion_tokens
	alternate                          // joins a user message to another one or a tool result directly before it
	noChoice                           // tool_choice
	noMarks                            // cache_control
	nativeCalls                        // the model has made native calls
)

// Adapt implements [api.API].
func (API) Adapt(req *model.Request, t *api.Target, e *model.Error) bool {
	before := t.Quirks
	if wantsAlternation(e) {
		t.Quirks |= alternate
		return t.Quirks != before
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
	case t.Limit(req) > 0 && (said("max_tokens") || said("max_completion_tokens")):
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

// wantsAlternation reports whether an endpoint accepts a user message only after an
// assistant message. The template of a local model often requires this.
func wantsAlternation(e *model.Error) bool {
	text := strings.ToLower(e.Message)
	return (e.Status == 400 || e.Status == 422 || e.Status == 500) &&
		(strings.Contains(text, "roles must alternate") || strings.Contains(text, "after role") || strings.Contains(text, "must alternate between"))
}
