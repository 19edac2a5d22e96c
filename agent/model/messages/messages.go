// Package messages speaks Anthropic's Messages API, which other vendors offer, too.
//
// [API] encodes requests and decodes the events of responses. Equal messages always result in
// equal bytes, so a request repeats the previous request, apart from cache marks. Blocks of
// thinking go back to their host, byte for byte and in their place. An API is stateless and
// safe for concurrent use. A decoder belongs to a response.
package messages

import (
	"net/http"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// API is the Messages API.
type API struct{}

var _ api.API = API{}

// Name returns "messages".
func (API) Name() string { return api.Messages }

// Quirks of an endpoint and model: the rejected parts of a request.
const (
	noMarks       api.Quirks = 1 << iota // cache_control
	noLongMarks                          // cache_control.ttl
	noEffort                             // output_config.effort
	noDisplay                            // thinking.display
	noThinking                           // thinking
	onlyAdaptive                         // each form of thinking but adaptive
	onlyBudget                           // adaptive thinking
	noInterleaved                        // the header for thinking between tool calls
	noEager                              // eager_input_streaming
	noChoice                             // tool_choice
	smallLimit                           // max_tokens of more than 8192
	tinyLimit                            // max_tokens of more than 4096
	textSystem                           // a list of blocks in system
)

// rejections holds the texts of errors about parts of a request not accepted by an endpoint.
// The first match sent in the request applies.
var rejections = []struct {
	words  []string // all of them
	quirk  api.Quirks
	needed func(req *model.Request, t *api.Target) bool // whether the request contained the part
}{
	{[]string{"cache_control", "ttl"}, noLongMarks, func(_ *model.Request, t *api.Target) bool { return t.Cache.Long && !t.Cache.Off }},
	{[]string{"cache_control"}, noMarks, func(_ *model.Request, t *api.Target) bool { return !t.Cache.Off }},
	{[]string{"eager_input_streaming"}, noEager, func(req *model.Request, t *api.Target) bool { return len(req.Tools) > 0 && eager(t) }},
	{[]string{"thinking", "display"}, noDisplay, func(req *model.Request, t *api.Target) bool { return thinkingOf(req, t).display }},
	{[]string{"thinking", "use", "adaptive"}, onlyAdaptive, func(req *model.Request, t *api.Target) bool {
		form := thinkingOf(req, t).form
		return form != "" && form != "adaptive"
	}},
	{[]string{"adaptive"}, onlyBudget, func(req *model.Request, t *api.Target) bool { return thinkingOf(req, t).form == "adaptive" }},
	{[]string{"effort"}, noEffort, func(req *model.Request, t *api.Target) bool { return thinkingOf(req, t).effort != "" }},
	{[]string{"output_config"}, noEffort, func(req *model.Request, t *api.Target) bool { return thinkingOf(req, t).effort != "" }},
	{[]string{"anthropic-beta"}, noInterleaved, func(req *model.Request, t *api.Target) bool { return thinkingOf(req, t).interleaved }},
	{[]string{"max_tokens"}, smallLimit, func(req *model.Request, t *api.Target) bool { return limit(req, t) > 8192 }},
	{[]string{"max_tokens"}, tinyLimit, func(req *model.Request, t *api.Target) bool { return limit(req, t) > 4096 }},
	{[]string{"tool_choice"}, noChoice, func(req *model.Request, _ *api.Target) bool { return req.NoCalls && len(req.Tools) > 0 }},
	{[]string{"system", "string"}, textSystem, func(req *model.Request, _ *api.Target) bool { return !isBlank(req.System) }},
	{[]string{"thinking"}, noThinking, func(req *model.Request, t *api.Target) bool { return thinkingOf(req, t).form != "" }},
}

// Adapt omits the part rejected by the endpoint. See [api.API].
func (API) Adapt(req *model.Request, t *api.Target, failed *model.Error) bool {
	if !refusesPart(failed.Kind) || failed.Status != 400 && failed.Status != 422 {
		return false
	}
	text := strings.ToLower(failed.Message)
	for _, r := range rejections {
		if t.Quirks&r.quirk == 0 && containsAll(text, r.words) && r.needed(req, t) {
			t.Quirks |= r.quirk
			return true
		}
	}
	return false
}

// refusesPart reports whether an error of a kind may be about a part of the request.
func refusesPart(kind model.ErrorKind) bool {
	return kind == model.ErrRequest || kind == model.ErrModel || kind == model.ErrTools
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// statuses maps the types of errors in a stream to HTTP statuses.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      529,
}

// Classify returns the error of a response or of an error event. See [api.API].
func (API) Classify(status int, header http.Header, body []byte) *model.Error {
	var said struct {
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	if status == 0 {
		_ = unmarshal(body, &said) // other forms set no type
		status = statuses[said.Error.Type]
	}
	err := api.Classify(status, header, body)
	if err.Status != http.StatusBadRequest || err.Kind == model.ErrOverflow {
		return err
	}
	text := strings.ToLower(err.Message)
	switch {
	case refusesThinking(text):
		err.Kind = model.ErrState
	case strings.Contains(text, "credit balance is too low"), strings.Contains(text, "usage limits"):
		err.Kind = model.ErrCredit
	}
	return err
}

// refusesThinking reports whether an endpoint rejects blocks of thinking in the history: they
// changed, are missing, or belong to another conversation or model.
func refusesThinking(text string) bool {
	if !strings.Contains(text, "thinking") {
		return false
	}
	for _, words := range []string{"signature", "cannot be modified", "expected `thinking`", "expected thinking", "bound to a different", "invalid `data`", "final block in an assistant message"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
