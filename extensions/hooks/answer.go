package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools"
)

// answer is the output of a hook, in the forms of Hermes Agent and of Claude Code.
type answer struct {
	Action  string                     `json:"action"` // block, modify or approve
	Message string                     `json:"message"`
	Args    map[string]json.RawMessage `json:"args"`
	Context string                     `json:"context"`
	Note    string                     `json:"note"`
	Result  json.RawMessage            `json:"result"`
	Text    *string                    `json:"text"`

	Decision      string `json:"decision"` // block or approve
	Reason        string `json:"reason"`
	Continue      *bool  `json:"continue"`
	StopReason    string `json:"stopReason"`
	SystemMessage string `json:"systemMessage"`
	Specific      struct {
		Decision string          `json:"permissionDecision"` // deny, ask or allow
		Reason   string          `json:"permissionDecisionReason"`
		Input    json.RawMessage `json:"updatedInput"`
		Context  string          `json:"additionalContext"`
	} `json:"hookSpecificOutput"`

	plain string // output other than a JSON object
}

// Decision is the result of a hook, for people.
type Decision string

// Decisions.
const (
	None   Decision = "none"
	Block  Decision = "block"
	Ask    Decision = "ask"
	Modify Decision = "modify"
	Failed Decision = "failed"
)

// exitBlocks is the exit code with which a hook blocks. Its message is on stderr.
const exitBlocks = 2

// read returns the answer of an ended hook.
func (h Hook) read(code int, stdout, stderr []byte) (a answer, err error) {
	message := strings.TrimSpace(tools.Outside(string(stderr)))
	switch {
	case code == exitBlocks:
		return answer{Action: "block", Message: message}, nil
	case code != 0:
		text := fmt.Sprintf("it ended with exit code %d", code)
		if message != "" {
			lines := strings.Split(message, "\n")
			text += ": " + tools.OneLine(lines[len(lines)-1], 200)
		}
		return a, errors.New(text)
	}
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 {
		return a, nil
	}
	if stdout[0] == '{' {
		if err := json.Unmarshal(stdout, &a); err == nil {
			a.clean()
			return a, nil
		}
	}
	if h.event == preTool {
		return a, errors.New("its output is not a JSON object of the known form")
	}
	return answer{plain: strings.TrimSpace(tools.Outside(string(stdout)))}, nil
}

// clean removes control characters and similar characters from the texts of an answer. Arguments of
// calls are not texts of the hook: they are checked and shown like the model's.
func (a *answer) clean() {
	for _, text := range []*string{&a.Message, &a.Context, &a.Note, &a.Reason, &a.StopReason, &a.SystemMessage, &a.Specific.Reason, &a.Specific.Context, a.Text} {
		if text != nil {
			*text = tools.Outside(*text)
		}
	}
	a.Result = tools.OutsideJSON(a.Result)
}

// blocks reports whether the hook blocks, and why.
func (a answer) blocks() (message string, ok bool) {
	switch {
	case strings.EqualFold(a.Action, "block"), strings.EqualFold(a.Decision, "block"):
		return first(a.Message, a.Reason, "no reason was given"), true
	case strings.EqualFold(a.Specific.Decision, "deny"):
		return first(a.Specific.Reason, a.Reason, a.Message, "no reason was given"), true
	case a.Continue != nil && !*a.Continue:
		return first(a.StopReason, a.Reason, a.Message, "no reason was given"), true
	}
	return "", false
}

// asks reports whether the user must approve, and why. An approval of the hook is a question to
// the user, because a hook can only restrict.
func (a answer) asks() (reason string, ok bool) {
	if strings.EqualFold(a.Action, "approve") || strings.EqualFold(a.Specific.Decision, "ask") {
		return first(a.Specific.Reason, a.Message, a.Reason), true
	}
	return "", false
}

// added is the hook's additional text for the model.
func (a answer) added() string { return first(a.Context, a.Specific.Context, a.plain) }

// decision summarizes the answer in a word.
func (a answer) decision() Decision {
	if _, ok := a.blocks(); ok {
		return Block
	}
	if _, ok := a.asks(); ok {
		return Ask
	}
	if len(a.Args) > 0 || len(a.Specific.Input) > 0 || len(a.Result) > 0 || a.Text != nil || a.Note != "" || a.added() != "" {
		return Modify
	}
	return None
}

func first(texts ...string) string {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			return t
		}
	}
	return ""
}
