package file

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

func TestMain(m *testing.M) {
	modes.Enter()
	os.Unsetenv("OLDPWD") // editors start a server without it
	os.Exit(m.Run())
}
