// Package responses speaks OpenAI's Responses API: POST BASE/responses, streamed, and
// never stored by the provider.
//
// [API] encodes requests and decodes the events of responses. The state of a reasoning part is
// the whole item. The state of a text or a call contains the item's members missing in the
// part, such as the id. State is sent back in its place, to its origin only. An API is
// stateless and safe for concurrent use.
package responses

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// API is an [api.API].
type API struct{}

// Name returns "responses".
func (API) Name() string { return api.Responses }

// Parameters rejected by an endpoint or a model.
const (
	padded      api.Quirks = 1 << iota // stream_options.include_obfuscation
	noCacheKey                         // prompt_cache_key
	noLimit                            // max_output_tokens
	noSummary                          // reasoning.summary, which requires a verified organization
	noEffort                           // reasoning.effort
	noEncrypted                        // include: the model does not reason
	noStore                            // store: the endpoint stores nothing, or always
	noChoice                           // tool_choice
	noStrict                           // strict, of tools
)

// Adapt omits a rejected parameter. See [api.API].
func (API) Adapt(_ *model.Request, t *api.Target, failed *model.Error) bool {
	before := t.Quirks
	if failed.Status != http.StatusBadRequest && failed.Status != http.StatusUnprocessableEntity {
		return false
	}
	text := strings.ToLower(failed.Message)
	said := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case said("include_obfuscation", "stream_options"):
		t.Quirks |= padded
	case said("prompt_cache_key"):
		t.Quirks |= noCacheKey
	case said("max_output_tokens"):
		t.Quirks |= noLimit
	case said("reasoning.summary", "reasoning summaries"):
		t.Quirks |= noSummary
	case said("reasoning.effort") && t.Quirks&noEffort == 0:
		t.Quirks |= noEffort
	case said("reasoning.effort"), said("reasoning") && api.RefusesParameter(failed.Message) && !said("reasoning."):
		t.Quirks |= noEffort | noSummary
	case said("encrypted content is not supported", "reasoning.encrypted_content", "(include)"), api.RefusesField(text, "include"):
		t.Quirks |= noEncrypted
	case api.RefusesField(text, "store"):
		t.Quirks |= noStore
	case api.RefusesField(text, "tool_choice"):
		t.Quirks |= noChoice
	case api.RefusesField(text, "strict"):
		t.Quirks |= noStrict
	}
	return t.Quirks != before
}

// Classify returns the error of a response, or of an event. See [api.API].
func (API) Classify(status int, header http.Header, body []byte) *model.Error {
	if failed := failedResponse(body); failed != nil {
		body = failed
	}
	err := api.Classify(status, header, body)
	code, text := codeOf(body), strings.ToLower(err.Message)
	switch {
	case status < 500 && refusesState(text):
		err.Kind = model.ErrState
	case policies[code]:
		err.Kind = model.ErrPolicy
	case status == 0 && strings.Contains(code, "image"):
		err.Kind = model.ErrRequest
	case status == 0 && (code == "server_is_overloaded" || code == "slow_down"):
		err.Kind = model.ErrBusy
	case (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) && !strings.Contains(text, "model"):
		err.Kind = model.ErrRequest // the address serves no Responses API
	}
	return err
}

// failedResponse returns the error of a response.failed event as the body of an HTTP
// error. If body is something else, it returns nil.
func failedResponse(body []byte) []byte {
	var event struct {
		Type     string `json:"type"`
		Response struct {
			Error json.RawMessage `json:"error"`
		} `json:"response"`
	}
	if json.Unmarshal(body, &event) != nil || event.Type != "response.failed" {
		return nil
	}
	if e := event.Response.Error; len(e) > 0 && string(e) != "null" {
		return append(append([]byte(`{"error":`), e...), '}')
	}
	return []byte(`{"error":{"message":"the response failed"}}`)
}

// codeOf returns the code of an error. If there is none, it returns "".
func codeOf(body []byte) string {
	var top struct {
		Code  json.RawMessage `json:"code"`
		Error struct {
			Code json.RawMessage `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(bytes.TrimSpace(body), &top) != nil {
		return ""
	}
	if code := api.Text(top.Error.Code); code != "" {
		return code
	}
	return api.Text(top.Code)
}

// policies are the codes for prompts forbidden by the provider's policy.
var policies = map[string]bool{
	"invalid_prompt": true, "bio_policy": true, "cyber_policy": true, "misalignment_policy_violation": true,
	"image_content_policy_violation": true, "data_residency_mismatch": true,
}

// refusesState reports whether a message in lower case is about reasoning items or ids refused
// by the endpoint.
func refusesState(text string) bool {
	switch {
	case strings.Contains(text, "encrypted content") && strings.Contains(text, "could not be"),
		strings.Contains(text, "was provided without its required"),
		strings.Contains(text, "item with id") && strings.Contains(text, "not found"):
		return true
	default:
		return false
	}
}
