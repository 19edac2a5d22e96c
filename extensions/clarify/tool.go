package clarify

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed tool.md
var clarifyWords string

type clarifyIn struct {
	Question      string   `json:"question" jsonschema:"one question, with the facts that the user needs"`
	Choices       []string `json:"choices,omitempty" jsonschema:"at most 6 answers, your recommendation first"`
	AllowFreetext *bool    `json:"allow_freetext,omitempty" jsonschema:"user may write another answer; default true"`
}

const (
	mostChoices     = 6
	longestChoice   = 200  // characters
	longestQuestion = 4000 // characters
)

// Preload makes the input schema of the tool, which stays in memory.
func Preload() { tools.Preload[clarifyIn]() }

// Clarify returns the tool clarify. who shows the questions to the user; limit is the timeout of a
// question.
func Clarify(who tools.Clarifier, limit time.Duration) tools.Tool {
	return tools.New(tools.Tool{
		Name: "clarify", Toolset: Toolset, Order: -20, Kind: tools.KindThink, Plans: true,
		Description: strings.TrimSpace(clarifyWords),
		Advice:      "Use clarify only if a wrong guess costs the user work.",
		Title:       tools.Titled(func(in clarifyIn) string { return "Ask: " + in.Question }),
		Available: func(context.Context) error {
			if !who.CanClarify() {
				return errors.New("no user can be asked here")
			}
			return nil
		},
	}, func(ctx context.Context, env *tools.Env, c tools.Call, in clarifyIn) (tools.Result, error) {
		q, err := requestOf(env, c, in)
		if err != nil {
			return tools.Fail("clarify: %v", err), nil
		}
		if !who.CanClarify() {
			return tools.Fail("clarify: no user can be asked here. Decide by yourself, and list your assumptions in your report"), nil
		}
		if env.Gate != nil {
			leave, err := env.Gate.Wait(ctx)
			if err != nil {
				return tools.Result{}, err
			}
			defer leave()
		}
		waiting, stop := context.WithTimeout(ctx, limit)
		defer stop()
		answer, err := who.Clarify(waiting, q)
		return answered(ctx, waiting, answer, err, limit)
	})
}

func requestOf(env *tools.Env, c tools.Call, in clarifyIn) (tools.ClarifyRequest, error) {
	q := tools.ClarifyRequest{SessionID: env.SessionID, CallID: c.ID, Question: strings.TrimSpace(tools.Outside(in.Question)), FreeText: true}
	switch n := len([]rune(q.Question)); {
	case n == 0:
		return q, errors.New("the question is empty; write what the user should decide")
	case n > longestQuestion:
		return q, fmt.Errorf("the question has %d characters, at most %d are shown; ask briefly", n, longestQuestion)
	case len(in.Choices) > mostChoices:
		return q, fmt.Errorf("%d choices were given, at most %d can be shown; leave out the unlikely ones, the user can answer in other words", len(in.Choices), mostChoices)
	}
	for _, choice := range in.Choices {
		choice = tools.OneLine(tools.Outside(choice), longestChoice)
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

// answered returns the result of a question. A missing answer is no error, and the turn continues.
func answered(ctx, waiting context.Context, a tools.Answer, err error, limit time.Duration) (tools.Result, error) {
	const alone = " Choose the most sensible option, and list your assumptions at the end. Do not ask again."
	note := ""
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, ctx.Err()
	case waiting.Err() != nil:
		note = fmt.Sprintf("There was no answer within %v.", limit) + alone
	case err != nil:
		note = fmt.Sprintf("The question could not be put (%v).", err) + alone
	case a.Kind == tools.AnswerGiven:
		return tools.OK(map[string]string{"answer": a.Text}), nil
	case a.Kind == tools.AnswerYou:
		note = "The user leaves it to you." + alone
	case a.Kind == tools.AnswerLater:
		note = "The user will answer in the chat. End your turn now: repeat the question as the last thing you say, and call no more tools."
	default:
		note = "The user closed the question without an answer." + alone
	}
	return tools.OK(map[string]string{"answer": "", "note": note}), nil
}
