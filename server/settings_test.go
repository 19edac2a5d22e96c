package server

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// A session's chosen options apply to its forks, and after a restart.
func TestChoicesAreKept(t *testing.T) {
	t.Parallel()
	home, ws := t.TempDir(), t.TempDir()
	options := Options{Home: home, Model: fakemodel.Script(answer("hi"), answer("hi"))}
	start := func() *Service {
		s := open(t, options)
		s.SetInit([]byte(`{"model":{"provider":"ollama","default":"a","fallback":["b","c"]}}`))
		return s
	}
	s := start()
	x, g := session(t, s, ws)
	choose := func(id, value string) {
		t.Helper()
		if err := x.SetOption(t.Context(), id, value); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, x *Session, err error, mode, model, thought string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for i, want := range []string{mode, model, thought} {
			if o := x.Options()[i]; o.Value != want {
				t.Errorf("%s: %s is %s, want %s", what, o.ID, o.Value, want)
			}
		}
	}
	choose(optionModel, "b") // before the first prompt
	prompt1(t, x, "hi")
	choose(optionMode, ModeAuto)
	choose(optionThought, "high")
	fork, err := s.Fork(t.Context(), x.ID(), "", Place{Cwd: ws}, g)
	check("a fork", fork, err, ModeAuto, "ollama/b", "high")
	choose(optionThought, thoughtAuto)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start()
	loaded, err := s.LoadSession(t.Context(), x.ID(), Place{Cwd: ws}, g)
	check("loaded", loaded, err, ModeAuto, "ollama/b", thoughtAuto)
	fresh, _ := session(t, s, ws)
	check("another session", fresh, nil, ModeAsk, "ollama/a", thoughtAuto)
}
