package server

import (
	"cmp"
	"slices"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Instruments observe a service, for traces and for the debug socket. Each may be nil.
type Instruments struct {
	// Model wraps each model for requests.
	Model func(model.Model) model.Model
	// Event gets the events of turns, subagents included, before the host gets them.
	Event func(sessionID string, e agent.Event)
}

// model returns the model for requests.
func (i Instruments) model(m model.Model) model.Model {
	if i.Model == nil {
		return m
	}
	return i.Model(m)
}

// sink returns a sink that observes events and forwards them.
func (i Instruments) sink(sessionID string, to agent.Sink) agent.Sink {
	if i.Event == nil {
		return to
	}
	return teeSink{observer{sessionID, i.Event}, to}
}

type observer struct {
	id    string
	event func(string, agent.Event)
}

func (o observer) Event(e agent.Event) { o.event(o.id, e) }

// SessionState describes an open session. It contains no text of the history.
type SessionState struct {
	ID      string
	Cwd     string
	Folders []string // additional folders
	Editor  string   // the host's name; empty: unknown
	Mode    string   // ask, careful, auto or plan
	Model   string   // the chosen model; empty: the first configured model
	Opened  time.Time
	Updated time.Time
	Queue   []TurnState // the first turn runs, the others wait
	Loaded  bool        // the history is in memory
}

// TurnState describes a turn in a session's queue.
type TurnState struct {
	Replay    bool // it shows the history, or does work while no prompt may run
	Running   bool
	Cancelled bool
	Since     time.Time
}

// Inspect returns the state of the open sessions, the oldest first.
func (s *Service) Inspect() []SessionState {
	open := s.open()
	out := make([]SessionState, 0, len(open))
	for _, x := range open {
		out = append(out, stateOf(x))
	}
	slices.SortFunc(out, func(a, b SessionState) int {
		return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func stateOf(x *Session) SessionState {
	head := x.Head()
	name, _ := x.settings.model.Choice()
	return SessionState{
		ID: x.id, Cwd: head.Cwd, Folders: head.Folders, Editor: x.place.Editor, Mode: x.Mode(),
		Model: name, Opened: x.opened, Updated: head.UpdatedAt, Loaded: x.record.opened() != nil, Queue: x.queue.state(),
	}
}
