package messages

import (
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// family is a kind of thinking.
type family int

const (
	foreign  family = iota // another vendor's model behind this API
	plain                  // a Claude without thinking: before 3.7
	budgeted               // thinks within budget_tokens: 3.7 to 4.5
	adaptive               // the model decides, within output_config.effort: since 4.6
	always                 // adaptive, and thinking cannot be disabled
)

// familyOf returns the family of a model and its version times ten, from an id such as
// "claude-opus-4-6" or "anthropic.claude-3-7-sonnet-20250219-v1:0". A Claude id without a known
// version counts as new.
func familyOf(id string) (family, int) {
	_, name, ok := strings.Cut(strings.ToLower(id), "claude-")
	if !ok {
		return foreign, 0
	}
	version := versionOf(name)
	limitless := strings.HasPrefix(name, "fable") || strings.HasPrefix(name, "mythos")
	switch {
	case limitless || version > 50 || version == 0:
		return always, version
	case version >= 46:
		return adaptive, version
	case version >= 37:
		return budgeted, version
	default:
		return plain, version
	}
}

// versionOf returns the version in the name of a model, times ten: 46 for "opus-4-6", 37
// for "3-7-sonnet-20250219". If there is none, it returns 0.
func versionOf(name string) int {
	version, digits := 0, 0
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '.' || r == '@' || r == ':' }) {
		n, err := strconv.Atoi(word)
		switch {
		case (err != nil || len(word) > 2) && digits > 0, digits == 2:
			return version
		case err == nil && len(word) <= 2 && digits == 0:
			version, digits = 10*n, 1
		case err == nil && len(word) == 1:
			version, digits = version+n, 2
		case err == nil:
			return version
		}
	}
	return version
}

// thinking is the part of a request about thinking.
type thinking struct {
	form        string // value of thinking.type; empty: the field is not sent
	budget      int    // thinking.budget_tokens
	effort      string // output_config.effort; empty: not sent
	display     bool   // ask for summaries, omitted by default in newer models
	interleaved bool   // ask for thinking between tool calls; newer models always do it
}

const minBudget = 1024

// budgets are the thinking tokens of an older model, by effort.
var budgets = map[string]int{"minimal": minBudget, "low": 4 << 10, "medium": 10 << 10, "high": 20 << 10, "xhigh": 26 << 10, "max": 30 << 10}

// thinkingOf maps the effort of a request to the parameters of the model. If the model's id is
// inconclusive, the endpoint's quirks decide.
func thinkingOf(req *model.Request, t *api.Target) thinking {
	kind, version := familyOf(t.Model)
	switch {
	case t.Quirks&noThinking != 0:
		return thinking{}
	case t.Quirks&onlyAdaptive != 0:
		kind = always
	case t.Quirks&onlyBudget != 0:
		kind = budgeted
	}
	effort := t.Effort(req)
	switch kind {
	case adaptive, always:
		if effort == "none" && kind == adaptive {
			return thinking{form: "disabled"}
		}
		how := thinking{form: "adaptive", display: t.Quirks&noDisplay == 0}
		if t.Quirks&noEffort == 0 {
			how.effort = adaptiveEffort(effort, version)
		}
		return how
	case budgeted, foreign:
		if effort == "none" && kind == foreign {
			return thinking{form: "disabled"}
		}
		budget := budgetFor(effort, limit(req, t))
		if budget == 0 || !continues(req, t) {
			return thinking{}
		}
		return thinking{form: "enabled", budget: budget, interleaved: version >= 40 && t.Quirks&noInterleaved == 0}
	default:
		return thinking{}
	}
}

// budgetFor returns the thinking tokens for a model. The limit of the response includes them.
// If they do not fit, the budget is half of the limit. If half is too little, or the effort is
// the default, the budget is 0.
func budgetFor(effort string, limit int) int {
	budget := budgets[effort]
	if budget >= limit {
		budget = limit / 2
	}
	if budget < minBudget {
		return 0
	}
	return budget
}

// adaptiveEffort returns the model's level for an effort: the same or the next lower level. If
// the effort is the default, it returns "".
func adaptiveEffort(effort string, version int) string {
	switch effort {
	case "none", "minimal":
		return "low"
	case "xhigh":
		if version == 46 {
			return "high"
		}
	}
	return effort
}

// continues reports whether a model with a budget may think: within a turn, it must have
// thought before its first call. In another model's turn, it must not think.
func continues(req *model.Request, t *api.Target) bool {
	first := -1
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role != model.User; i-- {
		if req.Messages[i].Role == model.Assistant {
			first = i
		}
	}
	if first < 0 {
		return true
	}
	for i := range req.Messages[first].Parts {
		if p := &req.Messages[first].Parts[i]; p.Type != model.ReasoningType || t.State(p) != nil {
			return p.Type == model.ReasoningType
		}
	}
	return true
}
