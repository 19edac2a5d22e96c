//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFeedbackCommand answers an offer by the command of the language server and by the method of the Agent
// Client Protocol. Only the first choice asks the model.
func TestFeedbackCommand(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"serve", "acp"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"pricing.py": "a = 1\n"})
			w := newWire(t, b, mode)
			answer := func(choice int) string {
				args := map[string]any{"choice": choice, "sessionId": w.session, "wait": true}
				if mode == "acp" {
					return string(w.call("_hermes/feedback", args))
				}
				return string(w.call("workspace/executeCommand", map[string]any{"command": "hermes.feedback", "arguments": []any{args}}))
			}
			if got := answer(7); !strings.Contains(got, "choice is 7; it is a number from 1 to 4") {
				t.Errorf("choice 7: %s", got)
			}
			if got := answer(4); !strings.Contains(got, `"stopReason":"end_turn"`) {
				t.Errorf("choice 4: %s", got)
			}
			var record struct{ Off bool }
			data, err := os.ReadFile(filepath.Join(b.home, "extensions", "feedback.json"))
			if err != nil || json.Unmarshal(data, &record) != nil || !record.Off {
				t.Errorf("the record is %s, %v", data, err)
			}
			if got := answer(1); !strings.Contains(got, `"stopReason":"end_turn"`) {
				t.Errorf("choice 1: %s", got)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if frames := w.frames.String(); !strings.Contains(frames, "The agent writes a skill") {
				t.Errorf("frames: %s", frames)
			}
		})
	}
}
