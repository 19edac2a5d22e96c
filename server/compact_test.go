package server

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// What shapes the prompt or the tool list takes effect at a compaction, not before it,
// and stays when the session is opened again.
func TestACompactionTakesWhatIsConfiguredNow(t *testing.T) {
	t.Parallel()
	home, cwd := t.TempDir(), t.TempDir()
	save(t, home, "model: {context_window: 100000}\n")
	m := fakemodel.Func(func(x *fakemodel.Exchange) { answer("done " + strings.Repeat("word ", 3000))(x) })
	s := open(t, Options{Home: home, Model: m})
	x, _ := session(t, s, cwd)
	for range 3 {
		prompt1(t, x, "go on")
	}
	write(t, filepath.Join(home, "SOUL.md"), "Speak like a pirate.")
	write(t, filepath.Join(cwd, "AGENTS.md"), "Rules of later.")
	save(t, home, "model: {context_window: 100000}\nagent: {tools: {disabled: [terminal]}}\n")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		x.mu.Lock()
		followed := slices.Contains(x.conf.Agent.Tools.Disabled, "terminal")
		x.mu.Unlock()
		if followed {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the configuration is not followed")
		}
	}
	prompt1(t, x, "before")
	offers := func(r *model.Request, name string) bool {
		return slices.ContainsFunc(r.Tools, func(o model.Tool) bool { return o.Name == name })
	}
	last := func() *model.Request { all := m.Requests(); return all[len(all)-1] }
	if r := last(); strings.Contains(r.System, "pirate") || !offers(r, "terminal") {
		t.Error("the beginning has changed before a compaction")
	}
	if stop, err := x.StartCompaction("", nil).Run(t.Context()); stop != agent.EndTurn || err != nil {
		t.Fatal(stop, err)
	}
	if r := last(); strings.Contains(r.System, "pirate") {
		t.Error("the notes are asked for with another beginning: the provider's cache is lost")
	}
	check := func(when string) {
		t.Helper()
		r := last()
		for _, want := range []string{"Speak like a pirate.", "Rules of later."} {
			if !strings.Contains(r.System, want) {
				t.Errorf("%s: the prompt lacks %q", when, want)
			}
		}
		if offers(r, "terminal") || !offers(r, "read_file") {
			t.Errorf("%s: terminal %t, read_file %t", when, offers(r, "terminal"), offers(r, "read_file"))
		}
	}
	prompt1(t, x, "after")
	check("after the compaction")
	if err := s.CloseSession(t.Context(), x.ID()); err != nil {
		t.Fatal(err)
	}
	again, err := s.LoadSession(t.Context(), x.ID(), Place{}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	prompt1(t, again, "the next day")
	check("opened again")
}
