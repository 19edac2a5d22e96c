package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// In mode smart, a model judges only actions that would require approval. They run only after its
// one word.
func TestSmart(t *testing.T) {
	t.Parallel()
	for says, runs := range map[string]bool{"ALLOW": true, " ALLOW\n": true, "ASK": false, "ALLOW it": false, "": false, "allow": false} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			home, dir := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("approvals: {mode: smart}\nsandbox: {mode: \"off\"}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "build"), 0o755); err != nil {
				t.Fatal(err)
			}
			m := fakemodel.Script(
				func(x *fakemodel.Exchange) { x.Call("1", "terminal", `{"command":"ls"}`); x.End() },
				func(x *fakemodel.Exchange) { x.Call("2", "terminal", `{"command":"rm -rf build"}`); x.End() },
				func(x *fakemodel.Exchange) {
					x.Text(says)
					x.Usage(model.Usage{Input: 100, Output: 1})
					x.End()
				},
				answer("Done."),
			)
			x, _ := session(t, open(t, Options{Home: home, Model: m, Static: true}), dir)
			prompt1(t, x, "clean up")
			if _, err := os.Stat(filepath.Join(dir, "build")); (err != nil) != runs {
				t.Errorf("after %q: %v", says, err)
			}
			if n := len(m.Requests()); n != 4 {
				t.Fatalf("%d requests", n)
			}
			if u := x.record.opened().Usage(); u.Total.Input < 100 || says == "ALLOW" && u.Total != (model.Usage{Input: 100, Output: 1}) {
				t.Errorf("the request is not counted: %+v", u)
			}
			asked := m.Requests()[2]
			if len(asked.Messages) != 1 || len(asked.Tools) != 0 || !strings.HasSuffix(asked.Messages[0].Text(), "\nrm -rf build") {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}
