// Package hostile puts things in the place of files, for tests of whatever reads them.
package hostile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A Thing is something that may be where a file is expected.
type Thing struct {
	Name string
	// Put creates the thing at path, and the directories above it. It removes an earlier
	// one.
	Put func(t testing.TB, path string)
}

// Things are all that this system can make. Reading one of them as a file waits forever,
// takes all memory, or fails.
func Things(t testing.TB) []Thing {
	t.Helper()
	things := []Thing{
		{"folder", func(t testing.TB, path string) { must(t, os.MkdirAll(vacate(t, path), 0o700)) }},
		{"sparse file of 10 GB", func(t testing.TB, path string) {
			f, err := os.Create(vacate(t, path))
			must(t, err)
			must(t, f.Truncate(10<<30))
			must(t, f.Close())
		}},
	}
	if runtime.GOOS == "windows" {
		return things[:1] // a file of 10 GB would take them, and links need a privilege
	}
	return append(things, unixThings()...)
}

// vacate makes room at path.
func vacate(t testing.TB, path string) string {
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
