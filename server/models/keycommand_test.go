package models

import (
	"context"
	"os"
	"path/filepath"
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
	if key, err := printKey(t.Context(), "printf 'sk-1\n'", nil); err != nil || key != "sk-1" {
		t.Errorf("%q, %v", key, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "get-key"), []byte("#!/bin/sh\necho sk-2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := func(context.Context) (string, bool) { return dir + ":/usr/bin:/bin", true }
	if key, err := printKey(t.Context(), "get-key", path); err != nil || key != "sk-2" {
		t.Errorf("of a folder of the login shell: %q, %v", key, err)
	}
	for command, want := range map[string]string{
		"echo no login >&2; exit 3": "code 3", "true": "did not print a key", "echo two words": "did not print a key",
		"yes key | head -c 100000": "did not print a key",
	} {
		if key, err := printKey(t.Context(), command, nil); err == nil || !strings.Contains(err.Error(), want) || key != "" {
			t.Errorf("%s: %q, %v", command, key, err)
		}
	}
}
