package app_test

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

func TestMain(m *testing.M) {
	modes.Enter() // scripts run under this binary
	os.Exit(m.Run())
}
