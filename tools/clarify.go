package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Clarifier asks the person who owns a session for a word on how to go on.
type Clarifier interface {
	// CanClarify tells whether there is a way to ask at all.
	CanClarify() bool
	// Clarify returns when there is an answer, when there will be none, or when ctx
	// ends. An error says that asking has failed.
	Clarify(ctx context.Context, q Inquiry) (Answer, error)
}

// Inquiry is a question of the model's.
type Inquiry struct {
	SessionID string
	CallID    string
	Question  string   // plain text, of several lines perhaps
	Choices   []string // at most six, each one line; none: an open question
	FreeText  bool     // an answer in other words will do too
}

// Offers tells whether text is one of the choices.
func (q Inquiry) Offers(text string) bool { return slices.Contains(q.Choices, text) }

// Takes tells whether text may be an answer.
func (q Inquiry) Takes(text string) bool { return q.FreeText || q.Offers(text) }

// Answer is what became of a question.
type Answer struct {
	Kind AnswerKind
	Text string // of an answer that was given
}

// AnswerKind is how a question ended.
type AnswerKind int

const (
	AnswerNone  AnswerKind = iota // closed without an answer
	AnswerGiven                   // Text is it
	AnswerYou                     // the model is to decide
	AnswerLater                   // it will come as the user's next message
)

//go:embed clarify.md
var clarifyWords string

type clarifyIn struct {
	Question      string   `json:"question"`
	Choices       []string `json:"choices,omitempty"`
	AllowFreetext *bool    `json:"allow_freetext,omitempty" jsonschema:"may be answered in other words than choices; default true"`
}

const (
	mostChoices     = 6
	longestChoice   = 200  // characters
	longestQuestion = 4000 // characters
)

// Clarify returns the tool that asks the user. who puts the questions, limit is how
// long one stands.
func Clarify(who Clarifier, limit time.Duration) Tool {
	return New(Tool{
		Name: "clarify", Toolset: "clarify", Order: -20, Kind: KindThink,
		Description: strings.TrimSpace(clarifyWords),
		Title:       titled(func(in clarifyIn) string { return "Ask: " + in.Question }),
		Available: func(context.Context) error {
			if !who.CanClarify() {
				return errors.New("nobody can be asked here")
			}
			return nil
		},
	}, func(ctx context.Context, env *Env, c Call, in clarifyIn) (Result, error) {
		q, err := inquiry(env, c, in)
		if err != nil {
			return Fail("clarify: %v", err), nil
		}
		if env.For != "" || !who.CanClarify() {
			return Fail("clarify: nobody can be asked here. Decide by yourself, and say in your report what you took for granted"), nil
		}
		leave, err := env.Gate.wait(ctx)
		if err != nil {
			return Result{}, err
		}
		defer leave()
		waiting, stop := context.WithTimeout(ctx, limit)
		defer stop()
		answer, err := who.Clarify(waiting, q)
		return answered(ctx, waiting, answer, err, limit)
	})
}

func inquiry(env *Env, c Call, in clarifyIn) (Inquiry, error) {
	q := Inquiry{SessionID: env.SessionID, CallID: c.ID, Question: strings.TrimSpace(plainly(in.Question)), FreeText: true}
	switch n := len([]rune(q.Question)); {
	case n == 0:
		return q, errors.New("the question is empty; write what the user should decide")
	case n > longestQuestion:
		return q, fmt.Errorf("the question has %d characters, at most %d are shown; ask briefly", n, longestQuestion)
	case len(in.Choices) > mostChoices:
		return q, fmt.Errorf("%d choices were given, at most %d can be shown; leave out the unlikely ones, the user can answer in other words", len(in.Choices), mostChoices)
	}
	for _, choice := range in.Choices {
		choice = oneLine(plainly(choice), longestChoice)
		if choice == "" {
			return q, errors.New("one of the choices is empty")
		}
		if slices.Contains(q.Choices, choice) {
			return q, fmt.Errorf("the choice %q is given twice", choice)
		}
		q.Choices = append(q.Choices, choice)
	}
	if in.AllowFreetext != nil && len(q.Choices) > 0 {
		q.FreeText = *in.AllowFreetext
	}
	return q, nil
}

// answered says to the model what became of its question. No answer is no error:
// the work goes on.
func answered(ctx, waiting context.Context, a Answer, err error, limit time.Duration) (Result, error) {
	const alone = " Take the most sensible way, and say at the end what you took for granted. Do not ask again."
	note := ""
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case waiting.Err() != nil:
		note = fmt.Sprintf("Nobody answered within %v.", limit) + alone
	case err != nil:
		note = fmt.Sprintf("The question could not be put (%v).", err) + alone
	case a.Kind == AnswerGiven:
		return OK(map[string]string{"answer": a.Text}), nil
	case a.Kind == AnswerYou:
		note = "The user leaves it to you." + alone
	case a.Kind == AnswerLater:
		note = "The user will answer in the chat. End your turn now: repeat the question as the last thing you say, and call no more tools."
	default:
		note = "The user closed the question without an answer." + alone
	}
	return OK(map[string]string{"answer": "", "note": note}), nil
}
