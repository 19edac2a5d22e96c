package servertest_test

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

func TestMain(m *testing.M) {
	modes.Enter() // commands of the terminal tool run under this binary
	os.Exit(m.Run())
}
