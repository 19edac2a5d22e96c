package server

import (
	"context"
	"errors"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// slow is a host whose user sends prompts while a question is open, and then answers it.
type slow struct {
	Host
	while  func()
	decide tools.Decision
}

func (s slow) AskPermission(context.Context, tools.ApprovalRequest) (tools.Decision, error) {
	s.while()
	return s.decide, nil
}

func (slow) CanClarify() bool { return true }

func (s slow) Clarify(ctx context.Context, _ tools.ClarifyRequest) (tools.Answer, error) {
	s.while()
	<-ctx.Done()
	return tools.Answer{}, ctx.Err()
}

// A text sent while an approval request is open is the reason of a denial. If the user allows the
// action, or the prompt is more than a text, it is the next prompt.
func TestTextWhileAnApprovalIsOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in     agent.Input
		decide tools.Decision
		reason string
	}{
		"denied":      {agent.Input{Text: " Keep it. "}, tools.DecisionDeny, "Keep it."},
		"allowed":     {agent.Input{Text: "Keep it."}, tools.DecisionOnce, ""},
		"closed":      {agent.Input{Text: "Keep it."}, "", ""},
		"picture":     {agent.Input{Text: "Keep it.", Images: []model.Image{{}}}, tools.DecisionDeny, ""},
		"inline edit": {agent.Input{Text: "Keep it.", Rules: "Only this."}, tools.DecisionDeny, ""},
	} {
		var taken *typed
		notices := 0
		q := &questions{show: func(string) { notices++ }}
		q.host = slow{while: func() { taken = q.take(c.in) }, decide: c.decide}
		decision, err := q.AskPermission(t.Context(), tools.ApprovalRequest{})
		var denied *tools.Denied
		reason := ""
		if errors.As(err, &denied) {
			reason = denied.Reason
		}
		if decision != c.decide || reason != c.reason || taken == nil || q.starts(taken) != (c.reason == "") || notices != 1 {
			t.Errorf("%s: %q, %v, taken %+v, %d notices", name, decision, err, taken, notices)
		}
		if q.take(c.in) != nil {
			t.Errorf("%s: a prompt was taken when no question was open", name)
		}
	}
}

// A text sent while a question is open answers it, if the question accepts text. Otherwise it
// waits.
func TestTextWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	for _, free := range []bool{true, false} {
		var other, choice *typed
		q := &questions{show: func(string) {}}
		q.host = slow{while: func() {
			if !free {
				other = q.take(agent.Input{Text: "neither"})
			}
			choice = q.take(agent.Input{Text: "b"})
		}}
		a, err := q.Clarify(t.Context(), tools.ClarifyRequest{Choices: []string{"a", "b"}, FreeText: free})
		if err != nil || a.Kind != tools.AnswerGiven || a.Text != "b" || q.starts(choice) || !free && !q.starts(other) {
			t.Errorf("free %v: %+v, %v", free, a, err)
		}
	}
}
