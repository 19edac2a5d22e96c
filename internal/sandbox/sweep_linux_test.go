package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSweep(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	layers := func(name string, age time.Duration, size int) string {
		path := filepath.Join(dir, name)
		deep := filepath.Join(path, "0/x/upper/readonly")
		if err := os.MkdirAll(deep, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(deep, "f"), make([]byte, size), 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(dir, filepath.Join(deep, "link")); err != nil {
			t.Fatal(err)
		}
		for _, slot := range []string{"", "0", "1"} {
			if err := os.MkdirAll(filepath.Join(path, slot), 0o700); err != nil {
				t.Fatal(err)
			}
			lock := filepath.Join(path, slot, "lock")
			if err := os.WriteFile(lock, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(lock, now.Add(-age), now.Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(deep, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(deep, 0o700) }) // it may be gone
		return path
	}
	type check struct {
		path  string
		stays bool
	}
	used := layers("used", slotAge+time.Hour, 10)
	checks := []check{
		{layers("old", layerAge+time.Hour, 1), false},
		{layers("big and older", 3*time.Hour, 600), false},
		{layers("big and newer", 2*time.Hour, 600), true},
		{layers("new", time.Hour, 10) + "/0", true},
		{dir + "/new/1", true},
		{layers("left"+trash, 0, 1), false},
		{layers("old but used", 2*layerAge, 1), true},
		{used + "/0", true},
		{used + "/1", false},
	}
	for _, name := range []string{"used", "old but used"} {
		path := filepath.Join(dir, name)
		age := now.Add(-2 * layerAge)
		held, err := holdFolder(path)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()                                // only a lock
		os.Chtimes(filepath.Join(path, "lock"), age, age) // the test shows
	}
	sweepLayers(t.Context(), dir, now, 1000)
	for _, c := range checks {
		if _, err := os.Lstat(c.path); (err == nil) != c.stays {
			t.Errorf("%s is there: %v, want %v", c.path, err == nil, c.stays)
		}
	}
}

// A session does not wait at its end for the sweep.
func TestSweeperStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startSweeper(dir)
	start := time.Now()
	s.stop()
	if time.Since(start) > sweepAfter/2 {
		t.Error("it was waited for")
	}
	if err := os.WriteFile(filepath.Join(dir, "swept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if startSweeper(dir) != nil {
		t.Error("it is swept again")
	}
}
