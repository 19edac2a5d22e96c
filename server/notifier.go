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
	pending []string   // are shown with the next turn
	turn    agent.Sink // of the face that shows the running turn; nil: none
}

// ProblemViewer is a [Host] that shows problems of the configuration at once. Without it,
// they are shown in the next turn of the session that found them.
type ProblemViewer interface {
	ShowProblem(text string)
}

// show shows a text to the user at once, in the running turn if there is one. Hosts without a place for
// notices show them only there.
func (n *notifier) show(text string) {
	n.mu.Lock()
	turn := n.turn
	n.mu.Unlock()
	n.sink(turn).Event(agent.Notice{Text: text})
}

// mention shows a text to the user in hosts that have a place for notices. It is for facts that are shown
// elsewhere, too, such as by /status: in the chat document of other hosts it would stand between calls.
func (n *notifier) mention(text string) { n.sink(nil).Event(agent.Notice{Text: text}) }

// during makes a sink that of the running turn, until the turn calls ended.
func (n *notifier) during(turn agent.Sink) (ended func()) {
	set := func(to agent.Sink) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.turn = to
	}
	set(turn)
	return func() { set(nil) }
}

// ask shows a question that the user answers with a slash command.
func (n *notifier) ask(text string) { n.sink(nil).Event(agent.Notice{Text: text, Asks: true}) }

// warn shows a text to the user with the next turn.
func (n *notifier) warn(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = append(n.pending, text)
}

// report shows the problems that were not shown in any session yet.
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
	for _, text := range pending {
		sink.Event(agent.Notice{Text: text})
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
