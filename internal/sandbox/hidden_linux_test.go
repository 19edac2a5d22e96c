package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// TestHiddenPrograms checks the reasons for hidden programs, such as a program in another user's
// home.
func TestHiddenPrograms(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			other := filepath.Join(filepath.Dir(v.ws), "ann")
			v.box.cfg.Hide = []string{other}
			program, err := os.ReadFile("/bin/true")
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{
				other + "/prog": string(program), other + "/run": "#!/bin/sh\n", other + "/sh": string(program),
				v.ws + "/far": "#!" + other + "/sh\n", v.ws + "/lost": "#!/no/such/interpreter -x\n", v.ws + "/fine": "#!/bin/sh\n",
			} {
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for name, target := range map[string]string{"toprog": other + "/prog", "torun": other + "/run", "tonothing": other + "/nothing"} {
				if err := os.Symlink(target, filepath.Join(v.ws, name)); err != nil {
					t.Fatal(err)
				}
			}
			for path, want := range map[string]string{
				v.ws + "/fine": "", other + "/prog": "the sandbox hides it", other + "/run": "the sandbox hides it",
				v.ws + "/toprog": "it is a link to " + other + "/prog, which the sandbox hides", v.ws + "/torun": "it is a link to " + other + "/run, which the sandbox hides",
				v.ws + "/tonothing": "its link leads to " + other + "/nothing, which does not exist",
				v.ws + "/far":       other + "/sh", v.ws + "/lost": "the interpreter that its first line names does not exist: /no/such/interpreter",
			} {
				c := proc.Cmd{Args: []string{path}, Dir: v.ws, Env: []string{"PATH=/usr/bin:/bin"}}
				if err := v.box.Confine(t.Context(), &c); err != nil {
					t.Fatal(err)
				}
				_, err := proc.Run(t.Context(), c)
				if got := errorText(err); (want == "") != (err == nil) || !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
