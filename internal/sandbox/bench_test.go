package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// BenchmarkCommand starts an empty shell with and without a sandbox. The differences are the cost
// of each mechanism for a command. The size of the binary counts, so the server's own figures are
// in the end-to-end benchmark.
func BenchmarkCommand(b *testing.B) {
	home, root := b.TempDir(), b.TempDir()
	for _, name := range []string{".ssh", ".aws", ".config/gh"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		b.Fatal(string(out))
	}
	run := func(b *testing.B, box *Box) {
		b.Helper()
		for b.Loop() {
			var out bytes.Buffer
			c := proc.Cmd{Args: []string{"/bin/sh", "-c", ":"}, Dir: root, Stdout: &out, Stderr: &out, Together: true}
			watch := watching(box)
			if err := box.Confine(b.Context(), &c); err != nil {
				b.Fatal(err)
			}
			if _, err := proc.Run(b.Context(), c); err != nil {
				b.Fatal(err)
			}
			_, done := watch.Changes()
			done()
			watch.End()
		}
	}
	b.Run("off", func(b *testing.B) { run(b, nil) })
	for _, m := range candidates() {
		if m.Try(b.Context()) != nil {
			continue
		}
		for _, network := range []bool{true, false} {
			name := string(m.Kind)
			if !m.Processes {
				name += " without processes"
			}
			if !network {
				name += " without network"
			}
			b.Run(name, func(b *testing.B) {
				box := New(Config{Mode: WorkspaceWrite, Network: network, Home: home, Roots: func() []string { return []string{root} }, Mechanism: &m})
				defer box.Close()
				run(b, box)
			})
		}
	}
	b.Run("looking alone", func(b *testing.B) {
		box := New(Config{Mode: WorkspaceWrite, Network: true, Home: home, Roots: func() []string { return []string{root} }, Mechanism: &Mechanism{Kind: Namespaces, Processes: true}})
		defer box.Close()
		for b.Loop() {
			var c proc.Cmd
			watch := watching(box)
			if err := box.Confine(b.Context(), &c); err != nil {
				b.Fatal(err)
			}
			_, done := watch.Changes()
			done()
			watch.End()
		}
	})
}
