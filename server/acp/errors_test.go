package acp

import (
	"fmt"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
)

// TestErrorOfSize checks that the client gets our words about a prompt that does not fit, not the
// endpoint's, with the details of the refusal.
func TestErrorOfSize(t *testing.T) {
	t.Parallel()
	refusal := &model.Error{Kind: model.ErrOverflow, Model: "m", Status: 400}
	got := Error(fmt.Errorf("asking the model: %w", &agent.SizeError{Text: "the prompt does not fit", Cause: refusal}))
	if data, _ := got.Data.(map[string]any); got.Message != "the prompt does not fit" || data["model"] != "m" || data["status"] != 400 {
		t.Errorf("%q, %v", got.Message, got.Data)
	}
}
