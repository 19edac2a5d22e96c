package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/tools"
)

// ShowsForms reports whether the client shows forms.
func (c *Client) ShowsForms() bool {
	e := c.can.Load().Elicitation
	return e != nil && e.Form != nil
}

// CanClarify returns true. If the client shows no forms, choices are options of a
// permission request, and other questions are answered in the chat.
func (c *Client) CanClarify() bool { return true }

// Clarify asks the user a question, with a form if the client shows forms.
func (c *Client) Clarify(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	switch {
	case q.Address != "":
		return c.offerAddress(ctx, q)
	case q.Form != nil && c.ShowsForms():
		return c.fillForm(ctx, q)
	case q.Form != nil:
		return tools.Answer{Kind: tools.AnswerLater}, nil
	case c.ShowsForms():
		return c.clarifyByForm(ctx, q)
	case len(q.Choices) > 0:
		return c.clarifyByOptions(ctx, q)
	}
	return tools.Answer{Kind: tools.AnswerLater}, nil
}

// Options in addition to the choices.
const (
	optionChoice = "choice-" // and its number
	optionChat   = "chat"
	optionDecide = "decide"
	optionCancel = "cancel" // of a form
)

// clarifyByOptions offers each choice as an option of a permission request. If the user
// closes it, the answer is empty.
func (c *Client) clarifyByOptions(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	request := acp.RequestPermissionRequest{
		SessionID: q.SessionID,
		ToolCall:  acp.ToolCall{ToolCallID: q.CallID, Title: q.Question, Kind: acp.ToolKind(tools.KindThink), Status: acp.StatusPending},
		Options:   choiceOptions(q),
	}
	var response acp.RequestPermissionResponse
	if err := c.peer.Call(ctx, acp.MethodRequestPermission, request, &response); err != nil {
		return tools.Answer{}, fmt.Errorf("asking the user: %w", err)
	}
	return chosenOf(response.Outcome, q), nil
}

func choiceOptions(q tools.ClarifyRequest) []acp.PermissionOption {
	var options []acp.PermissionOption
	for i, choice := range q.Choices {
		options = append(options, acp.PermissionOption{OptionID: optionChoice + strconv.Itoa(i+1), Name: choice, Kind: acp.AllowOnce})
	}
	if q.FreeText {
		options = append(options, acp.PermissionOption{OptionID: optionChat, Name: "Answer in the chat", Kind: acp.RejectOnce})
	}
	if q.Server {
		return append(options, acp.PermissionOption{OptionID: optionCancel, Name: "Cancel", Kind: acp.RejectOnce})
	}
	return append(options, acp.PermissionOption{OptionID: optionDecide, Name: "You decide", Kind: acp.RejectOnce})
}

func chosenOf(o acp.PermissionOutcome, q tools.ClarifyRequest) tools.Answer {
	if o.Outcome != acp.OutcomeSelected {
		return tools.Answer{}
	}
	for i, choice := range q.Choices {
		if o.OptionID == optionChoice+strconv.Itoa(i+1) {
			return tools.Answer{Kind: tools.AnswerGiven, Text: choice}
		}
	}
	switch {
	case o.OptionID == optionChat && q.FreeText:
		return tools.Answer{Kind: tools.AnswerLater}
	case o.OptionID == optionDecide && !q.Server:
		return tools.Answer{Kind: tools.AnswerYou}
	}
	return tools.Answer{}
}

func (c *Client) clarifyByForm(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	form, err := json.Marshal(formOf(q))
	if err != nil {
		return tools.Answer{}, fmt.Errorf("asking the user: %w", err)
	}
	request := acp.ElicitRequest{SessionID: q.SessionID, ToolCallID: q.CallID, Message: q.Question, Mode: "form", RequestedSchema: form}
	var response acp.ElicitResponse
	if err := c.peer.Call(ctx, acp.MethodElicit, request, &response); err != nil {
		return tools.Answer{}, fmt.Errorf("asking the user: %w", err)
	}
	return answerOf(response, q), nil
}

// fillForm shows a form with the schema of the request.
func (c *Client) fillForm(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	request := acp.ElicitRequest{SessionID: q.SessionID, Message: q.Question, Mode: "form", RequestedSchema: q.Form}
	request.Meta = acp.Meta{"hermes": map[string]any{"fields": tools.FormFields(q.Form)}}
	var response acp.ElicitResponse
	if err := c.peer.Call(ctx, acp.MethodElicit, request, &response); err != nil {
		return tools.Answer{}, fmt.Errorf("asking the user: %w", err)
	}
	values, err := json.Marshal(response.Content)
	return tools.Answer{Kind: kindOf(response.Action), Text: string(values)}, err
}

// kindOf returns the kind of answer for an action of the client.
func kindOf(action string) tools.AnswerKind {
	switch action {
	case "accept":
		return tools.AnswerGiven
	case "decline":
		return tools.AnswerDeclined
	}
	return tools.AnswerNone
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

// formOf returns a form with one field for the answer. If the question has choices and also takes
// free text, the form gets a second field for the text.
func formOf(q tools.ClarifyRequest) form {
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

// answerOf returns the choice, or the free text if the question takes it. Any other value
// is an empty answer.
func answerOf(r acp.ElicitResponse, q tools.ClarifyRequest) tools.Answer {
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
