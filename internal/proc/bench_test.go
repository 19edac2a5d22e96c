package proc

import (
	"bytes"
	"os/exec"
	"testing"
)

// BenchmarkRun compares the cost of a supervised shell and a bare shell: the difference is the
// supervisor. The size of the binary counts, so the server's own figure is in the end-to-end
// benchmark.
func BenchmarkRun(b *testing.B) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(sh, "-c", ":").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("supervised", func(b *testing.B) {
		for b.Loop() {
			var out bytes.Buffer
			if _, err := Run(b.Context(), Cmd{Args: []string{sh, "-c", ":"}, Dir: "/", Stdout: &out, Stderr: &out}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
