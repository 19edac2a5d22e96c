package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// refused returns the error of a response that is not a model response: an HTTP error, or
// an error within a stream. In a stream, status is 0.
func (e *endpoint) refused(status int, header http.Header, body []byte) *model.Error {
	said := readRefusal(body)
	if status == 0 {
		status = said.status
	}
	text := strings.ToLower(said.message + " " + said.code)
	err := e.fail(kindOf(status, text), status, said.message, nil)
	if err.Message == "" {
		err.Message = http.StatusText(status)
	}
	err.RetryAfter = retryAfter(header)
	return err
}

// refusal has the common fields of vendors' error bodies.
type refusal struct {
	message string
	code    string // codes and types, to find the kind
	status  int    // the code, if it is an HTTP status
}

const maxMessage = 600 // bytes of an endpoint's message that errors include

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
		r.message = "a web page" + pageTitle(string(body))
	default:
		r.message = string(body)
	}
	r.message = strings.ToValidUTF8(r.message, "�")
	if len(r.message) > maxMessage {
		r.message = strings.ToValidUTF8(r.message[:maxMessage], "") + "…"
	}
	return r
}

// readObject reads {"error": {…}}, {"error": "…"}, {"message": …}, {"detail": …}.
func readObject(top map[string]json.RawMessage) refusal {
	var r refusal
	inner := top
	if raw, ok := top["error"]; ok {
		inner = nil
		if json.Unmarshal(raw, &inner) != nil {
			r.message = asText(raw)
		}
	}
	if r.message == "" {
		r.message = asText(first(inner, "message", "detail", "error", "msg"))
	}
	r.code = asText(inner["code"]) + " " + asText(inner["type"]) + " " + asText(inner["status"])
	if n, err := strconv.Atoi(asText(inner["code"])); err == nil && n >= 400 && n < 600 {
		r.status = n
	}
	if name := asText(inner["param"]); name != "" && !strings.Contains(r.message, name) {
		r.message += " (" + name + ")"
	}
	var meta struct { // OpenRouter: the error of the provider behind it
		Raw      json.RawMessage `json:"raw"`
		Provider string          `json:"provider_name"`
	}
	if json.Unmarshal(inner["metadata"], &meta) == nil && len(meta.Raw) > 0 {
		upstream := readRefusal([]byte(asText(meta.Raw)))
		r.message += fmt.Sprintf(" (%s: %s)", meta.Provider, upstream.message)
		r.code += " " + upstream.code
	}
	return r
}

func first(m map[string]json.RawMessage, keys ...string) json.RawMessage {
	for _, k := range keys {
		if v := m[k]; len(v) > 0 && string(v) != "null" {
			return v
		}
	}
	return nil
}

// asText returns the text of a JSON string. It returns other JSON as it is, and "" for
// null.
func asText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func pageTitle(page string) string {
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
	return " titled “" + strings.TrimSpace(page[at:at+end]) + "”"
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
	case status == http.StatusPaymentRequired,
		has("insufficient_quota", "exceeded your current quota", "insufficient credit", "insufficient balance", "insufficient funds", "billing_hard_limit"):
		return model.ErrCredit
	case status == http.StatusForbidden && has("moderation", "flagged", "content policy"):
		return model.ErrRequest
	case status == http.StatusForbidden, status < 500 && has("api key not valid", "invalid api key", "invalid_api_key", "incorrect api key"):
		return model.ErrAuth
	case status == http.StatusTooManyRequests:
		return model.ErrBusy
	case overflows(text):
		return model.ErrOverflow
	case status == http.StatusRequestEntityTooLarge:
		return model.ErrOverflow
	case status == 529, status == http.StatusServiceUnavailable:
		return model.ErrBusy
	case status == http.StatusRequestTimeout, status >= 500:
		return model.ErrServer
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

// overflows reports whether text has a vendor's message about a too long request.
func overflows(text string) bool {
	for _, words := range []string{
		"context_length_exceeded", "context length exceeded", "maximum context length", "model's context length", // OpenAI, OpenRouter, vLLM
		"context window", "context_window_exceeded", "exceeds the available context size", "exceed_context_size", // llama.cpp, LiteLLM
		"prompt is too long", "input is too long", "input length and `max_tokens` exceed", // Anthropic, Bedrock
		"exceeds the maximum number of tokens", "maximum prompt length", "exceeded model token limit", // Google, xAI, Moonshot
		"reduce the length of the messages", "range of input length", "too many tokens", "tokens in request more than max tokens", // Groq, Qwen, Cohere, MiniMax
		"too large for model with", "trying to keep the first", // Mistral, LM Studio
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// unknownModel reports whether the endpoint does not have the model.
func unknownModel(e *model.Error) bool {
	if e.Status == http.StatusNotFound {
		return true
	}
	text := strings.ToLower(e.Message)
	if !strings.Contains(text, "model") {
		return false
	}
	for _, words := range []string{"not found", "does not exist", "not exist", "not a valid model", "unknown model", "invalid model", "no such model"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
