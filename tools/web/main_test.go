package web_test

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

func TestMain(m *testing.M) {
	modes.Enter() // pages are read in a process of this binary
	os.Exit(m.Run())
}
