package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
)

// Clarifier asks the user how to continue.
type Clarifier interface {
	// CanClarify reports whether the host can show questions.
	CanClarify() bool
	// Clarify returns when the user answers, when no answer can come, or when ctx ends. If asking
	// fails, it returns an error.
	Clarify(ctx context.Context, q ClarifyRequest) (Answer, error)
}

// ClarifyRequest is a question of the model, or of an MCP server.
type ClarifyRequest struct {
	SessionID string
	CallID    string
	Question  string   // plain text, of several lines perhaps
	Choices   []string // at most six, each one line; none: an open question
	FreeText  bool     // an answer in other words will do too
	Server    bool     // an MCP server asks. The model cannot decide it

	// Form is the schema of a form shown instead of choices. If the host cannot show it, the answer
	// is [AnswerLater].
	Form json.RawMessage
	// Address is a web address. The question is whether to open it in the user's browser. If
	// the user agrees and the host cannot open it, the answer has no text. If the host cannot
	// ask, the answer is [AnswerLater].
	Address string
	// AddressID names the request with an address to the client.
	AddressID string
}

// FormFields returns the names of the fields of a form, in the order of its schema.
func FormFields(schema json.RawMessage) (names []string) {
	var form struct{ Properties json.RawMessage }
	if json.Unmarshal(schema, &form) != nil {
		return nil
	}
	fields := json.NewDecoder(bytes.NewReader(form.Properties))
	if open, err := fields.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for fields.More() {
		name, err := fields.Token()
		var field json.RawMessage
		if err != nil || fields.Decode(&field) != nil {
			return nil
		}
		if key := name.(string); !slices.Contains(names, key) { // the key of an object
			names = append(names, key)
		}
	}
	return names
}

// Offers reports whether text is one of the choices.
func (q ClarifyRequest) Offers(text string) bool { return slices.Contains(q.Choices, text) }

// Takes reports whether text is a possible answer.
func (q ClarifyRequest) Takes(text string) bool { return q.FreeText || q.Offers(text) }

// Answer is the result of a question.
type Answer struct {
	Kind AnswerKind
	Text string // the user's answer; for a form, a JSON object
}

// AnswerKind is how a question ended.
type AnswerKind int

const (
	AnswerNone     AnswerKind = iota // closed without an answer
	AnswerGiven                      // Text is it
	AnswerYou                        // the model is to decide
	AnswerLater                      // it will come as the user's next message
	AnswerDeclined                   // the user declined a form or an address
)

// Offer is a choice below a notice. The user who chooses it sends its prompt.
type Offer struct {
	Label  string `json:"label"`
	Prompt string `json:"prompt"`
}
