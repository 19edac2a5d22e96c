package sandbox

import (
	"fmt"
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// attack as first argument makes the test binary attack in ways no shell can; see attacks.
const attack = "attack"

func TestMain(m *testing.M) {
	supervisor.Main()
	enterHost()
	if len(os.Args) > 2 && os.Args[1] == attack {
		os.Exit(attacks(os.Args[2], os.Args[3:]))
	}
	if err := proc.Harden(); err != nil { // as the server does
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	removeVictims()
	os.Exit(code)
}
