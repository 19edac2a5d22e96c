package webpage

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	ServeHelper()
	os.Exit(m.Run())
}
