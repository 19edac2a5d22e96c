package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// The model is asked to check with the result of its first change, once in a session, and
// again after a compaction. A change by a script asks with the next request. Without a known
// check, nothing is asked.
func TestModelIsAskedToCheck(t *testing.T) {
	t.Parallel()
	write := func(id string) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) {
			x.Call(id, "write_file", `{"path":"a.go","content":"package a // `+id+`\n"}`)
			x.End()
		}
	}
	script := func(x *fakemodel.Exchange) {
		x.Call("s", "execute_code", `{"code":"from hermes_tools import write_file\nwrite_file('a.go', 'package a\\n')"}`)
		x.End()
	}
	const ask = "Checks of this project: `make test`."
	for name, test := range map[string]struct {
		makefile string
		model    []func(*fakemodel.Exchange)
		want     int // requests that contain the text once
	}{
		"twice":      {"test:\n", []func(*fakemodel.Exchange){write("1"), write("2"), says("Done.")}, 2},
		"script":     {"test:\n", []func(*fakemodel.Exchange){script, says("Done.")}, 1},
		"no command": {"all:\n", []func(*fakemodel.Exchange){write("1"), says("Done.")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cwd := t.TempDir()
			if err := os.WriteFile(filepath.Join(cwd, "Makefile"), []byte(test.makefile), 0o600); err != nil {
				t.Fatal(err)
			}
			m := fakemodel.Script(test.model...)
			svc := app.New(server.Options{Home: t.TempDir(), Environ: []string{}, Model: m, Static: true})
			t.Cleanup(func() { _ = svc.Close() })
			g := &guest{}
			x, err := svc.NewSession(t.Context(), server.Place{Cwd: cwd}, g)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := x.Prompt(t.Context(), agent.Input{Text: "go"}, nil); err != nil {
				t.Fatal(err)
			}
			got := 0
			for _, r := range m.Requests() {
				var all strings.Builder
				for _, message := range r.Messages {
					all.WriteString(message.Text())
				}
				switch strings.Count(all.String(), ask) {
				case 0:
				case 1:
					got++
				default:
					t.Errorf("asked more than once:\n%s", all.String())
				}
			}
			if got != test.want {
				t.Errorf("%d requests ask to check, want %d", got, test.want)
			}
			if told := strings.Contains(strings.Join(g.text, "\n"), "Checks of this project"); told != (test.want > 0) {
				t.Errorf("the user saw %q", g.text)
			}
		})
	}
}
