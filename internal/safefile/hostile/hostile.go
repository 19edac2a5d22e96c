// Package hostile replaces files by obstacles, for tests of code that reads files.
package hostile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// An Obstacle is a directory entry other than a readable file, such as a pipe.
type Obstacle struct {
	Name string
	// Put creates the obstacle at path, with the directories above it. It replaces an
	// earlier entry.
	Put func(t testing.TB, path string)
}

// Obstacles returns all obstacles of this system. Code that reads them as files waits forever, uses
// all memory, or fails.
func Obstacles(t testing.TB) []Obstacle {
	t.Helper()
	all := []Obstacle{
		{"folder", func(t testing.TB, path string) { must(t, os.MkdirAll(makeRoom(t, path), 0o700)) }},
		{"sparse file of 10 GB", func(t testing.TB, path string) {
			f, err := os.Create(makeRoom(t, path))
			must(t, err)
			must(t, f.Truncate(10<<30))
			must(t, f.Close())
		}},
	}
	if runtime.GOOS == "windows" {
		return all[:1] // a file of 10 GB would take them, and links need a privilege
	}
	return append(all, unixObstacles()...)
}

// makeRoom removes the entry at path and creates the directories above it. It returns path.
func makeRoom(t testing.TB, path string) string {
	must(t, os.RemoveAll(path))
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	return path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
