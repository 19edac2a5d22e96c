package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// After a folder was renamed, the next prompt of its session reports it to the model, once. The
// earlier history is sent unchanged.
func TestModelIsToldOfARenamedFolder(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(says("One."), says("Two."), says("Three."))
	home, parent := t.TempDir(), folderpath.Real(t.TempDir())
	old, now := filepath.Join(parent, "old"), filepath.Join(parent, "new")
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	start := func() *server.Service {
		return app.New(server.Options{Home: home, Environ: []string{"TEST=1"}, Model: m, Static: true})
	}
	s := start()
	x, err := s.NewSession(t.Context(), server.Place{Cwd: old}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	say := func(text string) {
		t.Helper()
		if _, err := x.Prompt(t.Context(), agent.Input{Text: text}, nil); err != nil {
			t.Fatal(err)
		}
	}
	say("one")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, now); err != nil {
		t.Fatal(err)
	}
	mover := start()
	if _, _, err := mover.MoveSessions(t.Context(), folderpath.Move{Old: old, New: now}); err != nil {
		t.Fatal(err)
	}
	if err := mover.Close(); err != nil {
		t.Fatal(err)
	}
	s = start()
	t.Cleanup(func() { _ = s.Close() })
	if x, err = s.LoadSession(t.Context(), x.ID(), server.Place{Cwd: now}, &guest{}); err != nil {
		t.Fatal(err)
	}
	say("two")
	say("three")
	requests := m.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	for i, r := range requests[1:] {
		before := requests[i]
		if r.System != before.System {
			t.Errorf("request %d has another system prompt", i+2)
		}
		for j := range before.Messages {
			if a, b := encoded(before.Messages[j]), encoded(r.Messages[j]); a != b {
				t.Errorf("request %d changes message %d:\n%s\n%s", i+2, j, a, b)
			}
		}
	}
	told := "folder: " + old + " was renamed to " + now
	for i, want := range []int{0, 1, 1} {
		text := ""
		for _, message := range requests[i].Messages {
			text += message.Text() + "\n"
		}
		if n := strings.Count(text, told); n != want {
			t.Errorf("request %d tells it %d times:\n%s", i+1, n, text)
		}
	}
}
