package lsp

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Nothing follows an answer closely, and another answer does not wait.
func TestSpacing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var x spacing
		start := time.Now()
		at := func() error { return nil }
		if err := x.other(at); err != nil || time.Since(start) != 0 {
			t.Errorf("the first message waits for %v, %v", time.Since(start), err)
		}
		for range 2 {
			if err := x.answer(at); err != nil || time.Since(start) != 0 {
				t.Errorf("an answer waits for %v, %v", time.Since(start), err)
			}
		}
		if err := x.other(at); err != nil || time.Since(start) != spaceAfter {
			t.Errorf("what follows an answer waits for %v, %v", time.Since(start), err)
		}
	})
}

// A request that stays without an answer is followed by something, a few times.
func TestNudge(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"Eglot": 3, "": 3, "emacs": 3, "Neovim": 0} {
		t.Run("client "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				o := outgoing{nudged: spacedClient(name)}
				nudges := 0
				send := func(m []byte) error {
					if strings.Contains(string(m), `"$/hermes/nudge"`) {
						nudges++
					}
					return nil
				}
				if _, err := o.ask(ctx, send, "workspace/applyEdit", nil); err == nil {
					t.Error("nobody has answered, and that is no error")
				}
				if nudges != want {
					t.Errorf("%d nudges, want %d", nudges, want)
				}
			})
		})
	}
}
