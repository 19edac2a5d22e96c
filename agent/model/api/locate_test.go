package api_test

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
)

// TestLocate checks the places named in refusals. Each API counts other parts of a history; the
// place must lead to the message of the part.
func TestLocate(t *testing.T) {
	t.Parallel()
	history := []model.Message{
		model.NewMessage(model.User, "go"),
		model.ResponseMessage("", "First.", model.Call{ID: "call_a", Name: "read_file", Args: `{"path":"a"}`}),
		model.ResultMessage("call_a", "read_file", `{"content":"a"}`),
		model.ResponseMessage("", "Now.", model.Call{ID: "call_b", Name: "write_file", Args: `{"path":"b"}`}, model.Call{ID: "call_c", Name: "clock", Args: `{}`}),
		model.ResultMessage("call_b", "write_file", `{"ok":true}`),
		model.ResultMessage("call_c", "clock", `{"time":1}`),
		model.NewMessage(model.Assistant, "done"),
		model.NewMessage(model.User, "more"),
	}
	apis := map[string]api.Locator{api.Messages: messages.API{}, api.Responses: responses.API{}, api.Gemini: gemini.API{}, api.Chat: openai.API{}}
	for _, c := range []struct {
		api, message string
		want         int
	}{
		{api.Messages, "messages.3.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", 3},
		{api.Messages, "messages.4.content.1: unexpected `tool_use_id` found in `tool_result` blocks: call_c", 5},
		{api.Messages, "messages.5: all messages must have non-empty content except for the optional final assistant message", 6},
		{api.Messages, "messages: text content blocks must be non-empty", -1},
		{api.Responses, "Invalid 'input[5].name': string does not match pattern.", 3},
		{api.Responses, "Invalid 'input[2].call_id': empty string. Expected a string with minimum length 1.", 1},
		{api.Responses, "Missing required parameter: 'input[8].output'.", 5},
		{api.Responses, "No tool call found for function call output with call_id call_c.", -1},
		{api.Gemini, "* GenerateContentRequest.contents[3].parts[1].function_call.name: [REQUIRED_FIELD_MISSING]", 3},
		{api.Gemini, `Invalid JSON payload received. Unknown name "x" at 'contents[1].parts[0]': Cannot find field.`, 1},
		{api.Gemini, "* GenerateContentRequest.contents[4].parts[1].function_response.name: Name cannot be empty.", 5},
		{api.Gemini, "Please ensure that function call turn comes immediately after a user turn or after a function response turn.", -1},
		{api.Chat, "Invalid 'messages[3].tool_calls[1].function.name': string does not match pattern.", 3},
		{api.Chat, `[{"type":"string_type","loc":["body","messages",4,"content"],"msg":"Input should be a valid string"}]`, 4},
		{api.Chat, "messages.6.content: text content must not be empty", 6},
	} {
		target := &api.Target{API: c.api, Host: "h", BaseURL: "https://h", Model: "m"}
		got := apis[c.api].Locate(&model.Request{Messages: history}, target, &model.Error{Kind: model.ErrRequest, Status: 400, Message: c.message})
		if got != c.want {
			t.Errorf("%s: %s: message %d, want %d", c.api, c.message, got, c.want)
		}
	}
}
