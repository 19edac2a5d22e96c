// Package gemini speaks the Gemini API: POST BASE/models/MODEL:streamGenerateContent. The
// key is in a header, never in the address.
//
// [API] encodes requests and decodes the events of responses. The state of a part is its
// thought signature, and the API's id of a call, if any. The state of a part of another type is
// the whole part. State is sent back in its place, to its origin only. An API is stateless and
// safe for concurrent use.
package gemini

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// API is an [api.API].
type API struct{}

// Name returns "gemini".
func (API) Name() string { return api.Gemini }

// Parameters rejected by a model.
const (
	noLevel    api.Quirks = 1 << iota // thinkingLevel or thinkingBudget
	noThinking                        // thinkingConfig
	oldSchemas                        // parametersJsonSchema
	noChoice                          // toolConfig
	noSystem                          // systemInstruction: it begins the first user message
)

// Adapt omits a rejected parameter. See [api.API].
func (API) Adapt(_ *model.Request, t *api.Target, failed *model.Error) bool {
	before := t.Quirks
	text := strings.ToLower(failed.Message)
	if failed.Status != http.StatusBadRequest {
		return false
	}
	switch {
	case strings.Contains(text, "thinking"):
		if strings.Contains(text, "level") || strings.Contains(text, "budget") {
			t.Quirks |= noLevel
		}
		if t.Quirks == before {
			t.Quirks |= noThinking
		}
	case api.RefusesField(text, "parametersjsonschema", "parameters_json_schema"):
		t.Quirks |= oldSchemas
	case api.RefusesField(text, "toolconfig", "tool_config"):
		t.Quirks |= noChoice
	case api.RefusesField(text, "systeminstruction", "system_instruction"), strings.Contains(text, "developer instruction is not enabled"):
		t.Quirks |= noSystem
	}
	return t.Quirks != before
}

// Classify returns the error of a response, or of an event. See [api.API].
func (API) Classify(status int, header http.Header, body []byte) *model.Error {
	err := api.Classify(status, header, body)
	text := strings.ToLower(err.Message)
	has := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case err.Status < 500 && (has("thought signature") || has("thought_signature")):
		err.Kind = model.ErrState
	case err.Status == http.StatusTooManyRequests && has("credits"):
		err.Kind = model.ErrCredit
	case err.Status == http.StatusTooManyRequests:
		// The message names plan and billing for each limit, even for a limit per minute.
		if err.Kind = model.ErrBusy; spent(body) {
			err.Kind = model.ErrCredit
		}
	}
	return err
}

// spent reports whether the daily quota is used up, or is zero.
func spent(body []byte) bool {
	type refusal struct {
		Error struct {
			Details []struct {
				Violations []struct {
					QuotaID    string          `json:"quotaId"`
					QuotaValue json.RawMessage `json:"quotaValue"`
				} `json:"violations"`
			} `json:"details"`
		} `json:"error"`
	}
	list := make([]refusal, 1)
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '[' {
		if json.Unmarshal(body, &list) != nil {
			return false
		}
	} else if json.Unmarshal(body, &list[0]) != nil {
		return false
	}
	for _, r := range list {
		for _, d := range r.Error.Details {
			for _, v := range d.Violations {
				if strings.Contains(v.QuotaID, "PerDay") || api.Text(v.QuotaValue) == "0" {
					return true
				}
			}
		}
	}
	return false
}

// version returns the number in the id of a model, such as 2.5. An id without a number,
// such as gemini-flash-latest, is a current model. If the model is not a Gemini, version
// returns 0.
func version(id string) float64 {
	id = id[strings.LastIndexByte(id, '/')+1:]
	rest, ok := strings.CutPrefix(id, "gemini-")
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(rest, "-")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return current
	}
	return n
}

// current is the version for which this package assumes the newest rules.
const current = 3

// efforts returns the levels of a model without configured levels.
func efforts(id string) []string {
	switch {
	case strings.Contains(id, "gemini-3-pro"):
		return []string{"low", "high"}
	case strings.Contains(id, "pro"):
		return []string{"low", "medium", "high"}
	default:
		return []string{"minimal", "low", "medium", "high"}
	}
}

// thinking returns the thinkingConfig of a request. If the model does not think, it
// returns nil.
func thinking(req *model.Request, t *api.Target) map[string]any {
	v := version(t.Model)
	if v < 2.5 || t.Quirks&noThinking != 0 || t.Efforts != nil && len(t.Efforts) == 0 {
		return nil
	}
	config := map[string]any{"includeThoughts": true}
	if t.Quirks&noLevel != 0 {
		return config
	}
	if v < current {
		if budget, ok := budget(t.Model, t.Effort(req)); ok {
			config["thinkingBudget"] = budget
		}
		return config
	}
	known := *t
	if known.Efforts == nil {
		known.Efforts = efforts(t.Model)
	}
	if effort := known.Effort(req); effort != "" && effort != "none" {
		config["thinkingLevel"] = effort
	}
	return config
}

// budget returns the thinkingBudget for a level of effort, within the limits of the model. If
// the model chooses its budget, budget returns false.
func budget(id, effort string) (tokens int, ok bool) {
	pro := strings.Contains(id, "pro")
	switch effort {
	case "none":
		if pro { // thinks always
			return 128, true
		}
		return 0, true
	case "minimal":
		return 512, true
	case "low":
		return 2048, true
	case "medium":
		return 8192, true
	case "high":
		return 24576, true
	case "xhigh", "max":
		if pro {
			return 32768, true
		}
		return 24576, true
	default:
		return 0, false
	}
}
