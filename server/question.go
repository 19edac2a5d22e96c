package server

import (
	"context"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/tools"
)

// questions passes the questions and approval requests of a session to its host. While a question
// is open, the next prompt answers it. While an approval request is open, prompts wait; if the user
// denies the request, they are the reason.
type questions struct {
	host Host
	show func(text string) // shows a notice

	mu   sync.Mutex
	open *openQuestion // nil: none
}

// openQuestion is the current question to the user.
type openQuestion struct {
	approval bool
	free     func(text string) bool // reports whether a text is an answer
	answer   chan string            // buffered, for one answer
	texts    []*typed
}

// typed is a prompt sent while a question was open.
type typed struct {
	text string
	used bool // it was the answer or the reason, so it starts no turn
}

// AskPermission implements [tools.Asker].
func (s *questions) AskPermission(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	o := s.begin(&openQuestion{approval: true})
	decision, err := s.host.AskPermission(ctx, q)
	texts := s.end(o)
	if decision != tools.DecisionDeny || err != nil || len(texts) == 0 {
		return decision, err
	}
	return decision, &tools.Denied{Reason: s.use(texts)}
}

// CanClarify implements [tools.Clarifier].
func (s *questions) CanClarify() bool {
	c, ok := s.host.(tools.Clarifier)
	return ok && c.CanClarify()
}

// Clarify implements [tools.Clarifier]. If the user sends a text meanwhile, it answers the
// question, and the host closes its view.
func (s *questions) Clarify(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	host := s.host.(tools.Clarifier)
	if q.Form != nil || q.Address != "" || !q.FreeText && len(q.Choices) == 0 && q.Server {
		return host.Clarify(ctx, q)
	}
	o := s.begin(&openQuestion{answer: make(chan string, 1), free: q.Takes})
	defer s.end(o)
	asking, stop := context.WithCancel(ctx)
	defer stop()
	type result struct {
		answer tools.Answer
		err    error
	}
	answered := make(chan result, 1)
	go func() {
		a, err := host.Clarify(asking, q)
		answered <- result{a, err}
	}()
	select {
	case text := <-o.answer:
		stop()
		<-answered
		return tools.Answer{Kind: tools.AnswerGiven, Text: text}, nil
	case r := <-answered:
		return r.answer, r.err
	}
}

func (s *questions) begin(o *openQuestion) *openQuestion {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = o
	return o
}

// end returns the prompts sent while a question was open.
func (s *questions) end(o *openQuestion) []*typed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == o {
		s.open = nil
	}
	return o.texts
}

// use makes a reason of prompts, which start no turns then.
func (s *questions) use(texts []*typed) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var reason []string
	for _, t := range texts {
		t.used = true
		reason = append(reason, t.text)
	}
	return strings.Join(reason, "\n")
}

// take takes a prompt if a question is open. It returns nil if none is.
func (s *questions) take(in agent.Input) *typed {
	text := strings.TrimSpace(in.TypedText())
	s.mu.Lock()
	o := s.open
	if o == nil || in.Note || in.Piped {
		s.mu.Unlock()
		return nil
	}
	t := &typed{text: text}
	plain := text != "" && text == strings.TrimSpace(in.Text) && in.Rules == "" && len(in.Images) == 0 && len(in.Context) == 0 && len(in.Calls) == 0
	notice := "Your message waits until you have answered the open question."
	switch {
	case plain && o.approval:
		o.texts = append(o.texts, t)
		notice = "Your message waits for your decision about the open approval request. Deny sends it to the agent as the reason."
	case plain && o.free(text):
		select {
		case o.answer <- text:
			t.used, notice = true, ""
		default: // it was answered just now
		}
	}
	s.mu.Unlock()
	if notice != "" {
		s.show(notice)
	}
	return t
}

// starts reports whether a taken prompt still has to start a turn.
func (s *questions) starts(t *typed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !t.used
}
