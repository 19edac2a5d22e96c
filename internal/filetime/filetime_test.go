package filetime_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/filetime"
)

// Files written before Pass and after it have different stamps.
func TestPassSeparatesChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	stamp := func(text string) int64 {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime().UnixNano()
	}
	for range 50 {
		before := stamp("before")
		filetime.Pass(t.Context())
		between := filetime.Stamp()
		if before >= between {
			t.Fatalf("a file that was written before has the stamp %d, not before %d", before, between)
		}
		if after := stamp("after"); after < between {
			t.Fatalf("a file that was written after has the stamp %d, before %d", after, between)
		}
	}
}
