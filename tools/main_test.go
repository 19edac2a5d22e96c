package tools

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

func TestMain(m *testing.M) {
	proc.Supervise()
	os.Unsetenv("OLDPWD") // editors start a server without it
	os.Exit(m.Run())
}
