package results

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

// TestMain lets the test binary scale pictures in child processes.
func TestMain(m *testing.M) {
	modes.Enter()
	os.Exit(m.Run())
}
