package servertest_test

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

// enterHost is set where tests run on hosts with more restrictions.
var enterHost = func() {}

func TestMain(m *testing.M) {
	enterHost()
	modes.Enter() // commands of the terminal tool run under this binary
	os.Exit(m.Run())
}
