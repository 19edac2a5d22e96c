//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkLook scans 5,000 folders with 50,000 unchanged files.
func BenchmarkLook(b *testing.B) {
	root := b.TempDir()
	for i := range 100 {
		for j := range 50 {
			dir := filepath.Join(root, fmt.Sprint("d", i), fmt.Sprint("node_modules", j))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			for k := range 10 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", k)), nil, 0o644); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	began := time.Now()
	box := New(Config{Mode: WorkspaceWrite, Roots: func() []string { return []string{root} }, Home: b.TempDir(), Environ: []string{}, Mechanism: &Mechanism{Kind: Namespaces}})
	box.places.Look()
	b.Logf("the first look: %v", time.Since(began))
	time.Sleep(100 * time.Millisecond) // twice the step of the timestamp clock
	box.places.Look()
	for b.Loop() {
		box.places.Look()
	}
}
