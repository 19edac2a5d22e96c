package server

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// Settings of the prompt or the tool list take effect at a compaction, not before it, and
// stay when the session is opened again.
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
		followed := slices.Contains(x.settings.config().Agent.Tools.Disabled, "terminal")
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

// A compaction lists every file that the model or a subagent has changed. It lists a file as read
// only if it is unchanged.
func TestACompactionListsChangedFiles(t *testing.T) {
	t.Parallel()
	for config, made := range map[string]bool{"": true, "checkpoints: {enabled: false}\n": false} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			home, cwd := t.TempDir(), t.TempDir()
			save(t, home, "model: {context_window: 100000}\n"+config)
			for _, name := range []string{"a.txt", "b.txt", "gone.txt", "edited.txt", "read.txt"} {
				write(t, filepath.Join(cwd, name), "one\n")
			}
			patch := "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: b.txt\n*** Move to: moved.txt\n@@\n-one\n+two\n*** Delete File: gone.txt\n*** Add File: new.txt\n+new\n*** End Patch"
			args, err := json.Marshal(map[string]string{"mode": "patch", "patch": patch})
			if err != nil {
				t.Fatal(err)
			}
			call := func(name, args string) func(*fakemodel.Exchange) {
				return func(x *fakemodel.Exchange) { x.Call(name, name, args); x.End() }
			}
			m := fakemodel.Script(
				call("read_file", `{"path":"./edited.txt"}`), call("read_file", `{"path":"read.txt"}`),
				call("patch", `{"path":"edited.txt","old_string":"one","new_string":"two"}`),
				call("patch", string(args)), call("terminal", `{"command":"echo x > made.txt"}`),
				answer(strings.Repeat("word ", 3000)), answer(strings.Repeat("word ", 3000)), answer(strings.Repeat("word ", 3000)), answer("my notes"), answer("fine"),
			)
			x, _ := session(t, open(t, Options{Home: home, Model: m, Static: true}), cwd)
			for range 3 {
				prompt1(t, x, "go")
			}
			if stop, err := x.StartCompaction("", nil).Run(t.Context()); stop != agent.EndTurn || err != nil {
				t.Fatal(stop, err)
			}
			prompt1(t, x, "after")
			requests := m.Requests()
			digest := requests[len(requests)-1].Messages[0].Text()
			_, rest, _ := strings.Cut(digest, "## Files that were changed\n")
			changed, rest, _ := strings.Cut(rest, "\n\n")
			_, rest, _ = strings.Cut(rest, "\n")
			read, _, _ := strings.Cut(rest, "\n\n")
			want := []string{"- a.txt", "- b.txt", "- edited.txt", "- gone.txt", "- moved.txt", "- new.txt"}
			if made {
				want = append(want, "- made.txt")
			}
			got := strings.Split(changed, "\n")
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) || read != "- read.txt" {
				t.Errorf("changed %q, want %q; read %q\n%s", got, want, read, digest)
			}
		})
	}
}
