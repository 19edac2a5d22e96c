package api_test

import (
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// TestPlaces checks the places of lists in the APIs' forms.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		message, list string
		want          []int
	}{
		{"messages.3.content.0.tool_use.id: String should match pattern", "messages", []int{3, 0}},
		{"Invalid 'messages[12].tool_calls[1].id': string too long. Expected 40", "messages", []int{12, 1}},
		{"Invalid value (messages.[4].content)", "messages", []int{4}},
		{"messages: text content blocks must be non-empty (messages.7)", "messages", []int{7}},
		{`[{"loc":["body","messages",5,"content",2],"msg":"x"}]`, "messages", []int{5, 2}},
		{"('body', 'messages', 6, 'content')", "messages", []int{6}},
		{"contents[4].parts[2].function_call.name: invalid", "contents", []int{4, 2}},
		{"Invalid 'input[7].call_id': empty string", "input", []int{7}},
		{"Your input exceeds 100 tokens", "input", nil},
		{"all messages must have content", "messages", nil},
		{"messages[", "messages", nil},
		{"", "messages", nil},
	} {
		if got := api.Places(c.message, c.list); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.message, got, c.want)
		}
	}
}
