package checkpoints

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
)

// The stored changes fit in a value of the state of a session: old turns are left out first, and then
// files.
func TestFittingMissed(t *testing.T) {
	t.Parallel()
	turn := func(files int) (m checkpoint.Missed) {
		for i := range files {
			m.Files = append(m.Files, fmt.Sprintf("/%s/%d", strings.Repeat("n", 200), i))
		}
		return m
	}
	for _, c := range []struct {
		name         string
		all          []checkpoint.Missed
		turns, files int // of the newest
	}{
		{"few", []checkpoint.Missed{turn(1), turn(2)}, 2, 2},
		{"many turns", []checkpoint.Missed{turn(200), turn(100), turn(100)}, 2, 100},
		{"many files", []checkpoint.Missed{turn(1), turn(500)}, 1, 250},
		{"none", nil, 0, 0},
	} {
		got := fitting(c.all)
		data, err := json.Marshal(got)
		if err != nil || len(data) > store.MaxStateValue || len(got) != c.turns || c.turns > 0 && len(got[len(got)-1].Files) != c.files {
			t.Errorf("%s: %d turns, %d bytes, %v", c.name, len(got), len(data), err)
		}
	}
}
