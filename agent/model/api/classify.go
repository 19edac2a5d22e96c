package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
)

// Classify returns the error of a failed response: an HTTP error, or an error event, where
// status is 0. It knows the common forms of error bodies.
func Classify(status int, header http.Header, body []byte) *model.Error {
	said := readRefusal(body)
	if status == 0 {
		status = said.status
	}
	text := strings.ToLower(said.message + " " + said.code)
	for _, code := range strings.Fields(strings.ToLower(said.code)) {
		text += " code=" + code
	}
	err := &model.Error{Kind: kindOf(status, text), Status: status, Message: said.message}
	if status == http.StatusForbidden && strings.HasPrefix(said.message, model.WebPage) {
		err.Kind = model.ErrRequest // a firewall or a proxy that does not know the key
	}
	if err.Kind == model.ErrRequest && (status == 0 || status >= 500) {
		err.Unsure = ofInterpreter(text) && !hasWording(text, templateWordings())
	}
	if err.Kind == model.ErrOverflow {
		if err.Window = said.window; err.Window == 0 {
			err.Window = WindowIn(said.message)
		}
	}
	if err.Message == "" {
		err.Message = http.StatusText(status)
	}
	err.RetryAfter = waitOf(header, said, err)
	err.Final = strings.EqualFold(header.Get("X-Should-Retry"), "false")
	return err
}

// refusal holds the common fields of vendors' error bodies.
type refusal struct {
	message string
	code    string // codes and types, to find the kind
	status  int    // the code, if it is an HTTP status
	wait    time.Duration
	window  int // the context window in tokens, if a field contains it
}

const maxMessage = 600 // limit for an endpoint's message in errors, in bytes

func readRefusal(body []byte) refusal {
	body = bytes.TrimSpace(body)
	var r refusal
	var top map[string]json.RawMessage
	switch {
	case len(body) > 0 && body[0] == '[': // Google's lists
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			return readRefusal(list[0])
		}
	case json.Unmarshal(body, &top) == nil:
		r = readObject(top)
	case bytes.HasPrefix(body, []byte("<")):
		r.message = model.WebPage + PageTitle(string(body))
	default:
		r.message = string(body)
	}
	r.message = shorten.Start(strings.ToValidUTF8(r.message, "�"), maxMessage)
	return r
}

// around are the members of a body for an error or a list of errors.
var around = []string{"error", "errors", "base_resp", "fault"}

// messageNames are the members of an error for its message, the most common first.
var messageNames = []string{
	"message", "detail", "error", "msg", "Message", "error_message", "errorMessage", "error_msg", "errmsg", "error_description", "status_msg", "faultstring", "title",
}

// readObject reads {"error": {…}}, {"error": "…"}, {"errors": [{…}]}, {"message": …}, {"detail": …}.
func readObject(top map[string]json.RawMessage) refusal {
	var r refusal
	inner := top
	if raw := first(top, around...); raw != nil {
		inner = nil
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			raw = list[0]
		}
		if json.Unmarshal(raw, &inner) != nil {
			r.message = Text(raw)
		}
	}
	if r.message == "" {
		r.message = wordsOf(first(inner, messageNames...))
	}
	if r.message == "" {
		r.message = wordsOf(first(top, messageNames[1:]...))
	}
	for _, name := range []string{"code", "type", "status", "error_code", "status_code", "__type"} {
		r.code += Text(inner[name]) + " "
	}
	if n, err := strconv.Atoi(Text(inner["code"])); err == nil && n >= 400 && n < 600 {
		r.status = n
	}
	r.window, _ = strconv.Atoi(Text(inner["n_ctx"])) // llama.cpp
	r.wait = cmp.Or(retryDelay(inner["details"]), waitField(inner), waitField(top))
	for _, d := range detailsOf(inner["details"]) {
		r.code += " " + d.Reason
	}
	var details struct { // Anthropic's
		Code string `json:"error_code"`
	}
	if json.Unmarshal(inner["details"], &details) == nil {
		r.code += " " + details.Code
	}
	if name := Text(inner["param"]); name != "" && !strings.Contains(r.message, name) {
		r.message += " (" + name + ")"
	}
	var meta struct { // OpenRouter: the underlying provider's error
		Raw      json.RawMessage `json:"raw"`
		Provider string          `json:"provider_name"`
	}
	if json.Unmarshal(inner["metadata"], &meta) == nil && len(meta.Raw) > 0 {
		upstream := readRefusal([]byte(Text(meta.Raw)))
		r.message += fmt.Sprintf(" (%s: %s)", meta.Provider, upstream.message)
		r.code += " " + upstream.code
		r.wait = cmp.Or(r.wait, upstream.wait)
	}
	return r
}

// wordsOf returns the text of a message: a text, an object with a text, or a list of them, as
// frameworks list refused fields. It returns other JSON unchanged.
func wordsOf(raw json.RawMessage) string {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(raw, &list) == nil && len(list) > 0:
		var all []string
		for _, one := range list[:min(len(list), 3)] {
			all = append(all, wordsOf(one))
		}
		return strings.Join(all, "; ")
	case json.Unmarshal(raw, &object) == nil && first(object, messageNames...) != nil:
		words := wordsOf(first(object, messageNames...))
		var place []any
		if json.Unmarshal(object["loc"], &place) == nil && len(place) > 0 { // FastAPI
			names := make([]string, len(place))
			for i, name := range place {
				names[i] = fmt.Sprint(name)
			}
			words = strings.Join(names, ".") + ": " + words
		}
		return words
	}
	return Text(raw)
}

// detail is an element of Google's error details.
type detail struct {
	Reason     string `json:"reason"`     // such as API_KEY_INVALID
	RetryDelay string `json:"retryDelay"` // such as 38s
}

// detailsOf returns the details of an error. Details in another form are skipped.
func detailsOf(raw json.RawMessage) []detail {
	var all []detail
	if len(raw) == 0 || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// retryDelay returns the wait in Google's details, or 0.
func retryDelay(raw json.RawMessage) time.Duration {
	for _, d := range detailsOf(raw) {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return wait
		}
	}
	return 0
}

func first(m map[string]json.RawMessage, keys ...string) json.RawMessage {
	for _, k := range keys {
		if v := m[k]; len(v) > 0 && string(v) != "null" {
			return v
		}
	}
	return nil
}

// IsError reports whether the member "error" of a response is an error. Some servers send an
// empty error with each good response: null, false, 0, "", {}, or an object whose members are
// all empty.
func IsError(raw json.RawMessage) bool {
	var v any
	if len(raw) == 0 {
		return false
	}
	return json.Unmarshal(raw, &v) != nil || !isEmpty(v)
}

// OnlyRefusal reports whether an event or a whole response is an error message without a member
// "error", and without any part of a response.
func OnlyRefusal(raw []byte) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil {
		return false
	}
	for _, name := range []string{"choices", "candidates", "promptFeedback", "output", "content", "content_block", "delta", "item", "part", "response", "usage", "usageMetadata"} {
		if _, ok := top[name]; ok {
			return false
		}
	}
	if Text(top["type"]) == "message_start" {
		return false
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(first(top, "message"), &inner) == nil || top["error"] != nil && !IsError(top["error"]) {
		return false // the start of a response
	}
	return strings.TrimSpace(readObject(top).message) != ""
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isEmpty(e) })
	case map[string]any:
		for _, e := range v {
			if !isEmpty(e) {
				return false
			}
		}
		return true
	}
	return false
}

// Text returns the text of a JSON string. It returns other JSON unchanged, and "" for null.
func Text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// PageTitle returns the title of a web page, for a message. If there is none, it returns "".
func PageTitle(page string) string {
	lower := strings.ToLower(page)
	_, after, ok := strings.Cut(lower, "<title>")
	end := strings.Index(after, "</title>")
	if !ok || end < 0 {
		return ""
	}
	at := len(page) - len(after)
	if len(lower) != len(page) || at+end > len(page) { // lower case changed the length
		return ""
	}
	return " titled “" + strings.TrimSpace(html.UnescapeString(page[at:at+end])) + "”"
}

// kindOf returns the kind of an error from its status and text. text is in lower case.
func kindOf(status int, text string) model.ErrorKind {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusUnauthorized:
		return model.ErrAuth
	case status < 500 && refusesState(text):
		return model.ErrState
	case status == http.StatusPaymentRequired,
		has("insufficient_quota", "enforced_spend_limit_reached", "exceeded your current quota", "insufficient credit", "insufficient balance", "insufficient funds", "billing_hard_limit"):
		return model.ErrCredit
	case status != http.StatusTooManyRequests && status < 500 && has("moderation", "flagged", "content policy", "content_policy", "content_filter", "responsibleaipolicy"):
		return model.ErrPolicy
	case status == http.StatusForbidden && (unknownModel(text) || has("access to model", "access to the model")):
		return model.ErrModel
	case status < 500 && model.Elsewhere(text):
		return model.ErrRequest
	case status == http.StatusForbidden, status < 500 && has("api_key_invalid", "api key not valid", "invalid api key", "invalid_api_key", "incorrect api key"):
		return model.ErrAuth
	case status == http.StatusTooManyRequests && !beyondQuota(text):
		return model.ErrBusy
	case overflows(text):
		return model.ErrOverflow
	case status == http.StatusRequestEntityTooLarge:
		return model.ErrOverflow
	case status == 529, status == http.StatusServiceUnavailable:
		return model.ErrBusy
	case refusesTools(text):
		return model.ErrTools
	case (status == 0 || status >= 500) && ofTemplate(text):
		return model.ErrRequest
	case status == http.StatusRequestTimeout, status >= 500:
		return model.ErrServer
	case status < 500 && unknownModel(text):
		return model.ErrModel
	case status >= 300:
		return model.ErrRequest
	case has("rate limit", "rate_limit", "overloaded", "too many requests", "at capacity"):
		return model.ErrBusy
	case has("invalid_request", "invalid request", "bad request", "not found", "not_found", "does not exist"):
		return model.ErrRequest
	default:
		return model.ErrServer
	}
}

// refusesState reports whether text is an API's message about refused state.
func refusesState(text string) bool {
	for _, words := range []string{
		"invalid_encrypted_content", "encrypted content could not be verified", // OpenAI
		"invalid signature in thinking block", "invalid `signature` in `thinking` block", // Anthropic
		"corrupted thought signature", "thought signature is not valid", // Gemini
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// refusesTools reports whether text means that the model or its server cannot call tools.
func refusesTools(text string) bool {
	for _, words := range []string{
		"support tool use", "not support tool", "tool use is not supported", "tools are not supported", "tool calling is not supported", "function calling is not supported", "not support function call", // OpenRouter, Ollama, Groq
		"function calling is not enabled", "tool calling is not enabled", "function_call is not supported", "tool use is not available", // Gemini
		"supplied: tools", "parameter: 'tools'", "parameter: `tools`", "'tools' is unsupported", "'tools' is not supported", "`tools` is not supported", "tools: extra inputs", // servers without the parameter
		"requires --jinja", "requires --enable-auto-tool-choice", "without a tool parser", // llama.cpp, vLLM
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// unknownModel reports whether text means that the endpoint does not know the model.
func unknownModel(text string) bool {
	if !strings.Contains(text, "model") {
		return false
	}
	for _, words := range []string{"not found", "not_found", "does not exist", "not exist", "not a valid model", "unknown model", "invalid model", "no such model"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
