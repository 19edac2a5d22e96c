package vision

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

// TestMain lets the test binary be a helper process.
func TestMain(m *testing.M) {
	modes.Enter()
	os.Exit(m.Run())
}
