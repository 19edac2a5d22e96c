package servertest_test

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

func TestMain(m *testing.M) {
	proc.Supervise() // commands of the terminal tool run under this binary
	os.Exit(m.Run())
}
