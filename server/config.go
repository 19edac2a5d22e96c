package server

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/hermes-ls/hermes-ls/config"
)

// SetInit sets the editor's initializationOptions, which take precedence over all other settings.
// They apply to sessions opened afterwards.
func (s *Service) SetInit(options json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init = options
}

// SetEditor sets the section hermes of workspace/configuration. Only its harmless keys apply, also to open sessions.
func (s *Service) SetEditor(settings json.RawMessage) {
	s.mu.Lock()
	s.editor = settings
	s.mu.Unlock()
	s.Reload()
}

// Config reads the configuration for folders.
func (s *Service) Config(folders []string) *config.Loaded { return s.load(folders, false) }

// load is Config. If kept is true and the user's file cannot be read now, the earlier values apply.
func (s *Service) load(folders []string, kept bool) *config.Loaded {
	s.mu.Lock()
	o := config.Options{Environ: s.Environ, Init: s.init, Editor: s.editor, Folders: folders, Kept: kept}
	s.mu.Unlock()
	loaded := s.Options.Config.Load(s.Home, o)
	if problem := s.unwatched.Load(); problem != nil {
		loaded.Problems = append(loaded.Problems, *problem)
	}
	return loaded
}

// watch starts to watch the user's files, once.
func (s *Service) watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watching || s.closed || s.Static {
		return
	}
	s.watching = true
	s.watched.Go(func() {
		if err := config.Watch(s.ctx, s.Home, s.Reload); err != nil && s.ctx.Err() == nil {
			s.tellUnwatched(err)
		}
	})
}

// tellUnwatched tells the user once: changes of the configuration apply only after a restart.
func (s *Service) tellUnwatched(err error) {
	s.Log.Warn("the configuration is not watched; changes apply after a restart", "error", err)
	problem := config.Problem{Source: config.Path(s.Home), Text: fmt.Sprintf("changes apply only after a restart: %v", err)}
	s.unwatched.Store(&problem)
	for _, x := range s.open() {
		x.notifier.report([]config.Problem{problem})
	}
}

// Reload reads the configuration again and applies it to open sessions. The service calls it when
// a file has changed.
func (s *Service) Reload() {
	for _, x := range s.open() {
		fresh := s.load(x.location.ws.Folders(), true)
		before := x.Options()
		if !fresh.Broken {
			x.settings.setConfig(fresh)
		}
		x.notifier.report(fresh.Problems)
		x.applySettings()
		x.location.apply(x.settings.config())
		if !reflect.DeepEqual(before, x.Options()) {
			x.settingsChanged()
		}
	}
}

func (s *Service) open() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Session, 0, len(s.sessions))
	for _, x := range s.sessions {
		all = append(all, x)
	}
	return all
}

// unreported returns the texts of the problems not yet reported.
func (s *Service) unreported(problems []config.Problem) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh []string
	for _, p := range problems {
		if text := p.String(); !s.reported[text] {
			s.reported[text] = true
			s.Log.Info("configuration", "problem", text) // the user gets a notice; run writes warnings to the same terminal
			fresh = append(fresh, "Configuration: "+text)
		}
	}
	return fresh
}
