package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/tools"
)

// CanClarify tells whether the client shows forms.
func (a *Agent) CanClarify() bool {
	e := a.client.Load().Elicitation
	return e != nil && e.Form != nil
}

// Clarify asks the client's user by a form.
func (a *Agent) Clarify(ctx context.Context, q tools.Inquiry) (tools.Answer, error) {
	form, err := json.Marshal(formOf(q))
	if err != nil {
		return tools.Answer{}, fmt.Errorf("asking the user: %w", err)
	}
	request := acp.ElicitRequest{SessionID: q.SessionID, ToolCallID: q.CallID, Message: q.Question, Mode: "form", RequestedSchema: form}
	var response acp.ElicitResponse
	if err := a.peer.Call(ctx, acp.MethodElicit, request, &response); err != nil {
		return tools.Answer{}, fmt.Errorf("asking the user: %w", err)
	}
	return answerOf(response, q), nil
}

// Names of the form's fields.
const (
	fieldAnswer = "answer"
	fieldOther  = "other"
)

type formField struct {
	Type      string   `json:"type"`
	Title     string   `json:"title"`
	Enum      []string `json:"enum,omitempty"`
	MinLength int      `json:"minLength,omitempty"`
}

type form struct {
	Type       string               `json:"type"`
	Properties map[string]formField `json:"properties"`
	Required   []string             `json:"required,omitempty"`
}

// formOf has one field for the answer, and a second one where a choice may be left
// for other words.
func formOf(q tools.Inquiry) form {
	f := form{Type: "object", Properties: map[string]formField{}, Required: []string{fieldAnswer}}
	if len(q.Choices) == 0 {
		f.Properties[fieldAnswer] = formField{Type: "string", Title: "Answer", MinLength: 1}
		return f
	}
	f.Properties[fieldAnswer] = formField{Type: "string", Title: "Answer", Enum: q.Choices}
	if q.FreeText {
		f.Properties[fieldOther] = formField{Type: "string", Title: "Or in your own words"}
		f.Required = nil
	}
	return f
}

// answerOf takes what was offered, or the user's own words where they were asked
// for. Anything else is no answer.
func answerOf(r acp.ElicitResponse, q tools.Inquiry) tools.Answer {
	if r.Action != "accept" {
		return tools.Answer{}
	}
	field := func(name string) string {
		var text string
		if json.Unmarshal(r.Content[name], &text) != nil {
			return ""
		}
		return strings.TrimSpace(text)
	}
	if own := field(fieldOther); own != "" && q.FreeText {
		return tools.Answer{Kind: tools.AnswerGiven, Text: own}
	}
	text := field(fieldAnswer)
	if text == "" || !q.Takes(text) {
		return tools.Answer{}
	}
	return tools.Answer{Kind: tools.AnswerGiven, Text: text}
}
