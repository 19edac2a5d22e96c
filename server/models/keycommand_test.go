package models

import (
	"os"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

func TestMain(m *testing.M) {
	modes.Enter()
	os.Exit(m.Run())
}

func TestPrintKey(t *testing.T) {
	t.Parallel()
	if key, err := printKey(t.Context(), "printf 'sk-1\n'"); err != nil || key != "sk-1" {
		t.Errorf("%q, %v", key, err)
	}
	for command, want := range map[string]string{
		"echo no login >&2; exit 3": "code 3", "true": "did not print a key", "echo two words": "did not print a key",
		"yes key | head -c 100000": "did not print a key",
	} {
		if key, err := printKey(t.Context(), command); err == nil || !strings.Contains(err.Error(), want) || key != "" {
			t.Errorf("%s: %q, %v", command, key, err)
		}
	}
}
