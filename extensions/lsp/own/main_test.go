package own

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	os.Exit(m.Run())
}
