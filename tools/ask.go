package tools

import (
	"context"
	"encoding/json"
	"slices"
)

// Clarifier asks the person who owns a session for a word on how to go on.
type Clarifier interface {
	// CanClarify tells whether there is a way to ask at all.
	CanClarify() bool
	// Clarify returns when there is an answer, when there will be none, or when ctx
	// ends. An error says that asking has failed.
	Clarify(ctx context.Context, q ClarifyRequest) (Answer, error)
}

// ClarifyRequest is a question of the model's.
type ClarifyRequest struct {
	SessionID string
	CallID    string
	Question  string   // plain text, of several lines perhaps
	Choices   []string // at most six, each one line; none: an open question
	FreeText  bool     // an answer in other words will do too

	// Form is the schema of a form that takes the place of choices. If the host cannot show it,
	// the answer is [AnswerLater].
	Form json.RawMessage
	// Address is a web address. The question is whether to open it in the user's browser. If
	// the user agrees and the host cannot open it, the answer has no text. If the host cannot
	// ask, the answer is [AnswerLater].
	Address string
	// AddressID names the request with an address to the client.
	AddressID string
}

// Offers tells whether text is one of the choices.
func (q ClarifyRequest) Offers(text string) bool { return slices.Contains(q.Choices, text) }

// Takes tells whether text may be an answer.
func (q ClarifyRequest) Takes(text string) bool { return q.FreeText || q.Offers(text) }

// Answer is the result of a question.
type Answer struct {
	Kind AnswerKind
	Text string // of an answer that was given; of a form, a JSON object
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
