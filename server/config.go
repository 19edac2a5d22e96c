package server

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/config"
)

// SetInit takes the editor's initializationOptions, the highest of all sources.
// It counts for sessions that are opened afterwards.
func (s *Service) SetInit(options json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init = options
}

// SetEditor takes the section hermes of workspace/configuration, of which only
// harmless keys count. Open sessions follow.
func (s *Service) SetEditor(settings json.RawMessage) {
	s.mu.Lock()
	s.editor = settings
	s.mu.Unlock()
	s.reload()
}

// Config is the configuration as folders see it, read now.
func (s *Service) Config(folders []string) *config.Loaded {
	s.mu.Lock()
	o := s.sources(folders)
	s.mu.Unlock()
	return s.Options.Config.Load(s.Home, o)
}

// sources are those beside the user's files; the lock is held.
func (s *Service) sources(folders []string) config.Options {
	return config.Options{Environ: s.Environ, Init: s.init, Editor: s.editor, Folders: folders}
}

// again is Config where an earlier one stays if the user's file is broken now.
func (s *Service) again(folders []string) *config.Loaded {
	s.mu.Lock()
	o := s.sources(folders)
	s.mu.Unlock()
	o.Kept = true
	return s.Options.Config.Load(s.Home, o)
}

// watch follows the user's files from the first session on.
func (s *Service) watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watching || s.closed || s.Static {
		return
	}
	s.watching = true
	s.watched.Go(func() {
		if err := config.Watch(s.ctx, s.Home, s.reload); err != nil && s.ctx.Err() == nil {
			s.Log.Warn("the configuration is not watched; changes count after a restart", "error", err)
		}
	})
}

// reload gives open sessions what may change in their lifetime.
func (s *Service) reload() {
	for _, x := range s.open() {
		fresh := s.again(x.ws.Folders())
		before := x.Options()
		x.mu.Lock()
		if !fresh.Broken {
			x.conf = fresh
		}
		x.mu.Unlock()
		x.report(fresh.Problems)
		x.applyMode()
		x.applySandbox()
		if !reflect.DeepEqual(before, x.Options()) {
			x.settingsChanged()
		}
	}
}

// Reload reads the configuration again, without waiting for news of its files.
func (s *Service) Reload() { s.reload() }

func (s *Service) open() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Session, 0, len(s.sessions))
	for _, x := range s.sessions {
		all = append(all, x)
	}
	return all
}

// news are the problems that nobody has been told yet.
func (s *Service) news(problems []config.Problem) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh []string
	for _, p := range problems {
		if text := p.String(); !s.reported[text] {
			s.reported[text] = true
			s.Log.Warn("configuration", "problem", text)
			fresh = append(fresh, "Configuration: "+text)
		}
	}
	return fresh
}

// ProblemViewer is a [Host] whose user sees at once what is wrong in the
// configuration. Elsewhere it is told in the next turn of the session that met it.
type ProblemViewer interface {
	ShowProblem(text string)
}

// report tells of problems that nobody has been told of yet.
func (x *Session) report(problems []config.Problem) {
	fresh := x.svc.news(problems)
	if v, ok := x.host.(ProblemViewer); ok && len(fresh) > 0 {
		v.ShowProblem(strings.Join(fresh, "\n"))
		return
	}
	for _, text := range fresh {
		x.Warn(text)
	}
}

// tellProblems shows what could not be shown at once.
func (x *Session) tellProblems(sink agent.Sink) {
	x.mu.Lock()
	problems := x.problems
	x.problems = nil
	x.mu.Unlock()
	for _, p := range problems {
		sink.Event(agent.Notice{Text: p})
	}
}

// Warn has something told to the user with the next turn.
func (x *Session) Warn(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.problems = append(x.problems, text)
}
