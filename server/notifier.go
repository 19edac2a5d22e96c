package server

import (
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/config"
)

// notifier shows notices to the user of a session.
type notifier struct {
	svc  *Service
	id   string
	host Host

	mu      sync.Mutex
	pending []agent.Notice // are shown with the next turn
	turn    agent.Sink     // of the client that shows the running turn; nil: none
}

// ProblemViewer is a [Host] with a view of configuration problems, which it shows at once. Other
// hosts show them in the next turn of the session that found them.
type ProblemViewer interface {
	ShowProblem(text string)
}

// show shows a text to the user at once, in the running turn if there is one. Hosts without a view
// of notices show them only in turns.
func (n *notifier) show(text string) { n.post(agent.Notice{Text: text}) }

// post shows a notice as show does.
func (n *notifier) post(notice agent.Notice) {
	n.mu.Lock()
	turn := n.turn
	n.mu.Unlock()
	n.sink(turn).Event(notice)
}

// mention shows a text to the user, in hosts with a view of notices. It is for facts with another
// place too, such as /status. In the chat document of other hosts, the text would stand between
// calls.
func (n *notifier) mention(text string) { n.sink(nil).Event(agent.Notice{Text: text}) }

// limits tells the user what the sandbox does. Each host shows gaps once per session, also in a
// turn. Without a gap, the brief sentence is shown once per machine; /status has the whole text.
func (n *notifier) limits(brief string, gaps []string) {
	if len(gaps) > 0 {
		n.show("Sandbox: not all limits are enforced: " + strings.Join(gaps, ". ") + ".")
		return
	}
	if text := "Sandbox: " + brief + ". See /status."; n.svc.told.first(n.svc.Home, "sandbox", text) {
		n.mention(text)
	}
}

// during makes turn the sink of the running turn, until the turn calls ended.
func (n *notifier) during(turn agent.Sink) (ended func()) {
	set := func(to agent.Sink) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.turn = to
	}
	set(turn)
	return func() { set(nil) }
}

// warn shows a text to the user with the next turn.
func (n *notifier) warn(text string) { n.later(agent.Notice{Text: text}) }

// later shows a notice with the next turn.
func (n *notifier) later(notice agent.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = append(n.pending, notice)
}

// report shows the problems that no session has shown yet.
func (n *notifier) report(problems []config.Problem) {
	unknown := n.svc.unreported(problems)
	if v, ok := n.host.(ProblemViewer); ok && len(unknown) > 0 {
		v.ShowProblem(strings.Join(unknown, "\n"))
		return
	}
	for _, text := range unknown {
		n.warn(text)
	}
}

// flush shows the pending texts.
func (n *notifier) flush(sink agent.Sink) {
	n.mu.Lock()
	pending := n.pending
	n.pending = nil
	n.mu.Unlock()
	for _, notice := range pending {
		sink.Event(notice)
	}
}

// sink returns the host's sink. If also is not nil, it gets the events, too.
func (n *notifier) sink(also agent.Sink) agent.Sink {
	sink := n.host.Sink(n.id)
	if also == nil {
		return sink
	}
	return teeSink{sink, also}
}

// teeSink passes events to two sinks.
type teeSink [2]agent.Sink

func (t teeSink) Event(e agent.Event) {
	t[0].Event(e)
	t[1].Event(e)
}
