package gitguard

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// A session leaves no folder of a journal, also if it ends while the journal is made.
func TestNoJournalStays(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"after a command", "during a scan"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			g := guardOf(t)
			dir := journalDir(g.cfg.HermesHome, fspath.Existing(g.cfg.Roots()))
			if when == "during a scan" {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "1"+asideName), []byte("text"), 0o600); err != nil {
					t.Fatal(err)
				}
				g.cfg.Notify = func(string) { g.Close() }
			}
			w, err := g.Watch(t.Context(), Opening{})
			if err != nil {
				t.Fatal(err)
			}
			w.End()
			g.Close()
			if _, err := os.Lstat(dir); !os.IsNotExist(err) {
				left, _ := filepath.Glob(filepath.Join(dir, "*"))
				t.Errorf("%q is left, with %q", dir, left)
			}
		})
	}
}
