//go:build linux

package proc

import (
	"bytes"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// held is a command in a holder.
func held(t *testing.T, h *Holders, script string) Cmd {
	t.Helper()
	c := sh(script)
	c.Confine, c.Holders = apart(t), h
	return c
}

// holders are some that end with the test.
func holders(t *testing.T) *Holders {
	t.Helper()
	h := &Holders{}
	t.Cleanup(h.Close)
	return h
}

func TestHeld(t *testing.T) {
	t.Parallel()
	h := holders(t)
	for range 3 {
		var out bytes.Buffer
		c := held(t, h, "echo $$; exit 3")
		c.Stdout, c.Stderr = &out, &out
		exit, err := Run(t.Context(), c)
		t.Log(exit, err, out.String())
		if err != nil || exit.Code != 3 {
			t.Error(exit, err)
		}
	}
}

func BenchmarkHeld(b *testing.B) {
	h := &Holders{}
	defer h.Close()
	for b.Loop() {
		var out bytes.Buffer
		c := Cmd{Args: []string{"/bin/sh", "-c", ":"}, Dir: "/", Stdout: &out, Stderr: &out, Holders: h,
			Confine: &confine.Plan{Namespaces: true, Processes: true, Writable: []string{"/"}}}
		if _, err := Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
