package checkpoint

import (
	"fmt"
	"testing"
)

// BenchmarkLook measures a scan of a clean repository and, for comparison, the walk alone.
func BenchmarkLook(b *testing.B) {
	w := newBench(b, nil)
	for i := range 20_000 {
		w.write(fmt.Sprintf("d%d/e%d/f%d.txt", i%40, i%400, i), fmt.Sprint("text ", i))
	}
	w.sh("git init -q; git add .; git commit -qm x; " + aged + "; git status")
	for b.Loop() {
		t, err := w.store.scan(b.Context(), nil, w.Files, nil, plenty)
		if err != nil {
			b.Fatal(err)
		}
		if n := len(t.unsavedPaths(plenty)); n > 0 {
			b.Fatalf("%d files are not safe in git", n)
		}
	}
}
