package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// What is not enforced is said once, by the first command, and not without one.
func TestSandboxGapsAreToldOnce(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("sandbox: {mode: off, network: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := func(x *fakemodel.Exchange) { x.Call("1", "terminal", `{"command":"true"}`); x.End() }
	s := open(t, Options{Home: home, Model: fakemodel.Script(answer("hi"), runs, answer("one"), runs, answer("two")), Static: true})
	x, g := session(t, s, t.TempDir())
	for i, want := range []int{0, 1, 1} {
		prompt1(t, x, "go")
		told := 0
		for _, n := range g.notices() {
			if strings.HasPrefix(n, "Sandbox: ") && strings.Contains(n, "network") {
				told++
			}
		}
		if told != want {
			t.Errorf("after prompt %d it was told %d times, want %d: %q", i+1, told, want, g.notices())
		}
	}
}
