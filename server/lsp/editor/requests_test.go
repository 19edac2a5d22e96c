package editor

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An unanswered request to eglot is followed by another message, a few times.
func TestNudge(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"Eglot": 3, "": 3, lspMode: 0, "Neovim": 0} {
		t.Run("client "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				o := outgoing{nudged: isEglot(name)}
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
