// Package learnings remembers which call worked after an error, and suggests it when the same error
// comes again. No model is involved: only outcomes of calls are recorded.
//
// A learning is recorded after a failed and a working call. A command, a script or an MCP tool call
// fails with an error about the call itself (an unknown option, a missing program). Then one of the
// next eight calls works with the same program and other arguments. If an equal error comes again,
// its result gets the field learned, once in a session. The model treats it as data: a call made
// because of it passes the same gate as every other call. Unsuccessful learnings are forgotten.
package learnings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Settings is the section learnings of config.yaml.
type Settings struct {
	Enabled  bool `json:"enabled" doc:"Remember which call worked after an error."`
	Max      int  `json:"max" doc:"Most learnings that are kept."`
	HalfLife int  `json:"half_life_days" doc:"Days without use after which the confidence of a learning is halved."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "learnings", Doc: "What worked after an error.", Defaults: Settings{Enabled: true, Max: 2000, HalfLife: 60}}
}

// New returns the extension. The caller closes the store.
func New(s *Store) extension.Extension { return learnings{s} }

type learnings struct{ store *Store }

func (learnings) Name() string { return "learnings" }

func (e learnings) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{store: e.store, session: s, reported: map[string]bool{}, sessions: map[string]*recent{}}, nil
}

type instance struct {
	store   *Store
	session *extension.Session

	mu       sync.Mutex
	reported map[string]bool    // fingerprints reported to the model
	sessions map[string]*recent // of the session and its subagents
}

// recent holds a session's failed calls that await a working call.
type recent struct{ failed []*failed }

// failed is a failed call.
type failed struct {
	attempt
	error, print string
	left         int       // calls until it is given up
	learning     *Learning // reported with the result; nil: none
}

// window is the number of calls after a failed call that may work.
const window = 8

// Close does nothing. The store is closed with the server.
func (*instance) Close(context.Context) error { return nil }

func (x *instance) config() (c Settings) {
	if x.session.Config(&c) != nil {
		return Settings{}
	}
	return c
}

// Hooks follows the results of calls, and lists the learnings.
func (x *instance) Hooks() extension.Hooks {
	return extension.Hooks{
		Events:         []extension.Handlers{{Limit: extension.NoLimit, TransformToolResult: x.called, SubagentStop: x.ended}},
		HistoryChanged: x.historyChanged, Entries: x.entries, Document: x.document,
	}
}

// called records a working call after a failed call, or adds a learning to a failed call.
func (x *instance) called(ctx context.Context, c extension.ToolCall, r tools.Result) (tools.Result, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.sessions[c.SessionID]
	if s == nil {
		s = &recent{}
		x.sessions[c.SessionID] = s
	}
	if writes(c.Tool) && !r.IsError {
		s.failed = nil // the next call may work because of the changed file
		return r, nil
	}
	if len(s.failed) == 0 && clean(r) {
		return r, nil
	}
	a, counts := attemptOf(c.Tool, c.Args)
	if !counts {
		s.age()
		return r, nil
	}
	settings := x.config()
	if !settings.Enabled {
		return r, nil
	}
	defer s.age()
	if succeeded(r) {
		x.worked(ctx, s, a, settings)
		return r, nil
	}
	text := failureOf(r)
	if text == "" {
		return r, nil
	}
	x.lowerConfidence(ctx, s, a, settings)
	f := &failed{attempt: a, error: x.kept(text), print: fingerprint(a.program, text), left: window + 1}
	f.learning = x.known(ctx, f.print, settings)
	s.failed = append(s.failed, f)
	if f.learning != nil {
		r = r.WithField("learned", advice(*f.learning))
	}
	return r, nil
}

// ended drops the calls of a subagent.
func (x *instance) ended(_ context.Context, s extension.SubagentEvent) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.sessions, s.SessionID)
	return nil
}

// writes reports whether a tool changes workspace files without a command.
func writes(t tools.Tool) bool {
	return slices.Contains([]tools.Kind{tools.KindEdit, tools.KindDelete, tools.KindMove}, t.Kind)
}

// age counts a call. Failed calls too far back are dropped.
func (s *recent) age() {
	for _, f := range s.failed {
		f.left--
	}
	s.failed = slices.DeleteFunc(s.failed, func(f *failed) bool { return f.left <= 0 })
}

// worked records that a call has worked after failed calls of the same program. Equal errors count
// once.
func (x *instance) worked(ctx context.Context, s *recent, a attempt, c Settings) {
	var after []*failed
	s.failed = slices.DeleteFunc(s.failed, func(f *failed) bool {
		if f.program != a.program || f.text == a.text {
			return false
		}
		i := slices.IndexFunc(after, func(g *failed) bool { return g.print == f.print })
		switch {
		case i < 0:
			after = append(after, f)
		case after[i].learning == nil:
			after[i] = f
		}
		return true
	})
	for _, f := range after {
		if f.learning != nil && follows(a, *f.learning) {
			x.note(x.store.judge(ctx, f.learning.ID, x.session.Cwd, true, c.HalfLife))
			continue
		}
		x.note(x.store.record(ctx, Learning{
			Fingerprint: f.print, Program: f.program, Error: f.error, Failed: x.kept(f.text), Worked: x.kept(a.text), Folder: x.session.Cwd,
		}, c.Max, c.HalfLife))
	}
}

// lowerConfidence lowers the confidence of a learning whose call has failed.
func (x *instance) lowerConfidence(ctx context.Context, s *recent, a attempt, c Settings) {
	s.failed = slices.DeleteFunc(s.failed, func(f *failed) bool {
		if f.learning == nil || f.program != a.program || !follows(a, *f.learning) {
			return false
		}
		x.note(x.store.judge(ctx, f.learning.ID, x.session.Cwd, false, c.HalfLife))
		return true
	})
}

// follows reports whether a call contains all words added by the learning's call to the failed
// call.
func follows(a attempt, l Learning) bool {
	before, now := strings.Fields(l.Failed), strings.Fields(a.text)
	added := 0
	for _, word := range strings.Fields(l.Worked) {
		if slices.Contains(before, word) {
			continue
		}
		if added++; !slices.Contains(now, word) {
			return false
		}
	}
	return added > 0 || a.text == l.Worked
}

// known returns a learning to report now, and marks it as reported.
func (x *instance) known(ctx context.Context, print string, c Settings) *Learning {
	if x.reported[print] {
		return nil
	}
	l, here, others, found, err := x.store.find(ctx, print, x.session.Cwd, c.HalfLife)
	x.note(err)
	if !found || l.Confidence < confidenceShown || !here && others < 2 {
		return nil
	}
	x.reported[print] = true
	return &l
}

// note reports a failure of the store once. The call is not affected.
func (x *instance) note(err error) {
	if err != nil && !x.reported[""] {
		x.reported[""] = true
		x.session.Notify(fmt.Sprintf("Learnings are not available: %v", err))
	}
}

const (
	maxAdvice = 400 // bytes
	maxKept   = 500 // bytes of each text
)

// advice is the text for the model.
func advice(l Learning) string {
	times := fmt.Sprintf("%d times", l.Seen)
	if l.Seen == 1 {
		times = "once"
	}
	return begin(fmt.Sprintf("Seen %s here. What worked: %s", times, l.Worked), maxAdvice)
}

// kept returns the stored form of a text: without secrets, and cut.
func (x *instance) kept(text string) string {
	return begin(tools.StripControl(x.session.Redact(text)), maxKept)
}

// begin returns the beginning of a text in at most limit bytes.
func begin(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const more = "…"
	limit -= len(more)
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + more
}

// historyChanged resets which learnings were reported, because the model may have lost them.
func (x *instance) historyChanged(c extension.Change) {
	if c != extension.Rewritten {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.reported)
}
