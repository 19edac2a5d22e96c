package acp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
)

// TestLongErrors checks that a value of a client is not returned whole.
func TestLongErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for _, err := range []error{
		server.ErrNoSession, acp.Errorf(acp.CodeInvalidParams, "%s", long), &server.InputError{Param: "prompt", Text: long}, errors.New(long),
	} {
		if got := Error(fmt.Errorf("session %q: %w", long, err)); len(got.Message) > LongestError+10 || got.Message == "" {
			t.Errorf("%d bytes", len(got.Message))
		}
	}
}

// TestErrorsHoldNoControls checks that names in errors cannot control a terminal or reorder text.
func TestErrorsHoldNoControls(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errors.New("a\x1b]0;x\x07\u202eb\u009bc\nd"), acp.Errorf(acp.CodeInvalidParams, "a\x1b]0;x\x07\u202eb\u009bc\nd")} {
		if got := Error(err).Message; got != "a]0;xbc\nd" {
			t.Errorf("%q", got)
		}
	}
}

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
