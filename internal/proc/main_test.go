//go:build unix

package proc

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"

	"go.uber.org/goleak"
)

// standIn as first argument makes the test binary a server: it hardens itself, starts the shell
// script in its second argument, and waits.
const standIn = "stand-in-server"

func TestMain(m *testing.M) {
	supervisor.Main()
	if len(os.Args) == 3 && os.Args[1] == standIn {
		os.Exit(serveStandIn(os.Args[2]))
	}
	if code, ok := helper(os.Args); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
