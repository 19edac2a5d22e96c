package skills

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

func TestMain(m *testing.M) {
	modes.Enter() // git runs under this binary
	os.Exit(m.Run())
}
