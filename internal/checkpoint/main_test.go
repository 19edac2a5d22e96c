package checkpoint

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"
)

// TestMain lets the test binary run as the supervisor of the git that it starts, and as the
// process that is killed.
func TestMain(m *testing.M) {
	supervisor.Main()
	if dir := os.Getenv("CHECKPOINT_VICTIM"); dir != "" {
		victim(dir)
	}
	os.Exit(m.Run())
}
