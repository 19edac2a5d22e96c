package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// The first command reports, once, which limits are not enforced. The turn shows it, too: bare clients show
// no other notices.
func TestSandboxGapsAreToldOnce(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("sandbox: {mode: off, network: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := func(x *fakemodel.Exchange) { x.Call("1", "terminal", `{"command":"true"}`); x.End() }
	s := open(t, Options{Home: home, Model: fakemodel.Script(answer("hi"), runs, answer("one"), runs, answer("two")), Static: true})
	x, g := session(t, s, t.TempDir())
	turn := &guest{}
	for i, want := range []int{0, 1, 1} {
		if stop, err := x.Prompt(t.Context(), agent.Input{Text: "go"}, turn); stop != agent.EndTurn || err != nil {
			t.Fatal(stop, err)
		}
		for where, notices := range map[string][]string{"session": g.notices(), "turn": turn.notices()} {
			told := 0
			for _, n := range notices {
				if strings.HasPrefix(n, "Sandbox: ") && strings.Contains(n, "network") {
					told++
				}
			}
			if told != want {
				t.Errorf("after prompt %d the %s was told %d times, want %d: %q", i+1, where, told, want, notices)
			}
		}
	}
}

// Without a gap, the sandbox is told once per machine, in at most 12 words. If it changes, it is told
// again. /status always has the whole text.
func TestSandboxIsToldOncePerMachine(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	told := func(config string) (notices []string, status string) {
		if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		runs := func(x *fakemodel.Exchange) { x.Call("1", "terminal", `{"command":"true"}`); x.End() }
		s := open(t, Options{Home: home, Model: fakemodel.Script(runs, answer("one"), runs, answer("two")), Static: true})
		for range 2 {
			x, g := session(t, s, t.TempDir())
			prompt1(t, x, "go")
			for _, n := range g.notices() {
				if strings.HasPrefix(n, "Sandbox: ") {
					notices = append(notices, n)
				}
			}
			var err error
			if status, err = statusText(t.Context(), x, ""); err != nil {
				t.Fatal(err)
			}
		}
		return notices, status
	}
	off, status := told("sandbox: {mode: off}\n")
	if len(off) != 1 || len(strings.Fields(off[0])) > 12 || !strings.Contains(off[0], "/status") {
		t.Errorf("told %q", off)
	}
	if !strings.Contains(status, "- Sandbox: off, network on: switched off (sandbox.mode): commands run with your own rights") {
		t.Errorf("/status: %s", status)
	}
	if again, _ := told("sandbox: {mode: off}\n"); len(again) != 0 {
		t.Errorf("told again: %q", again)
	}
	changed, status := told("sandbox: {mode: read-only}\n") // on some hosts with gaps, once per session
	if len(changed) == 0 || !strings.Contains(status, "- Sandbox: read-only, network on: read-only") {
		t.Errorf("after a change: %q\n%s", changed, status)
	}
	if again, _ := told("sandbox: {mode: off}\n"); len(again) != 1 {
		t.Errorf("after a change back: %q", again)
	}
}

// While sandbox.mode is wrong, no command and no script runs.
func TestUnknownSandboxMode(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"sandbox: {mode: readonly}", "sandbox: {mode: [read-only]}", "sandbox: read-only"} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			home, dir := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			m := fakemodel.Script(
				func(x *fakemodel.Exchange) { x.Call("1", "terminal", `{"command":"touch ran"}`); x.End() },
				func(x *fakemodel.Exchange) {
					x.Call("2", "execute_code", `{"code":"open('ran', 'w')"}`)
					x.End()
				},
				answer("Done."),
			)
			x, _ := session(t, open(t, Options{Home: home, Model: m, Static: true}), dir)
			prompt1(t, x, "go")
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("something ran: %v", left)
			}
			last := m.Requests()[2].Messages
			for _, i := range []int{len(last) - 1, len(last) - 3} {
				if text := last[i].Text(); !strings.Contains(text, "sandbox.mode is") || !strings.Contains(text, "Nothing was run") {
					t.Errorf("result %q", text)
				}
			}
		})
	}
}
