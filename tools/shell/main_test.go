package shell

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

func TestMain(m *testing.M) {
	modes.Enter()
	for _, name := range []string{"OTHER_EDITOR", "MANPAGER", "AWS_PAGER"} {
		os.Setenv(name, "sleep 100") // as a user's profile may
	}
	os.Unsetenv("OLDPWD")                 // editors start a server without it
	os.Setenv("APPTAINER_USERNS", "true") // as without root; root may lack a capability required by apptainer
	os.Exit(m.Run())
}
