package main

import (
	"io"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// TestNoUserIsNoDenial checks that, without a user, the model does not read about a denial by the
// user.
func TestNoUserIsNoDenial(t *testing.T) {
	t.Parallel()
	gate := gate.New(gate.Config{Asker: &terminalHost{progress: io.Discard}})
	v := policy.Command("rm -rf build", policy.Scope{Cwd: "/ws", Roots: []string{"/ws"}})
	err := gate.Check(t.Context(), &tools.Env{}, tools.Call{}, tools.KindExecute, "rm -rf build", v)
	if err == nil {
		t.Fatal("it went through")
	}
	for _, part := range []string{"no user is present to approve it", "--approve always", `add "rm -rf build" to command_allowlist`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "user denied") {
		t.Errorf("%q says that the user decided", err)
	}
}
