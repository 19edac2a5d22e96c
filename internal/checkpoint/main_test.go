package checkpoint

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"
)

// TestMain lets the test binary run as git's supervisor, and as the process to be killed.
func TestMain(m *testing.M) {
	supervisor.Main()
	if dir := os.Getenv("CHECKPOINT_VICTIM"); dir != "" {
		victim(dir)
	}
	os.Exit(m.Run())
}
