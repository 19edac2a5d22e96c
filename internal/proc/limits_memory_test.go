//go:build linux && !race

package proc

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// Not under the race detector: the supervisor is this binary too, and the detector
// alone takes more than these limits. The Makefile runs it without.
func TestMemoryLimits(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	checkLimits(t, []limitTest{
		{name: "one takes too much", script: self + " hog 10240 2>&1", limits: Limits{MemoryMB: 400}, out: "out of memory"},
		{name: "one takes what it may", script: "timeout 10 " + self + " hog 40; echo ended", limits: Limits{MemoryMB: 400}, out: "taken\nended\n"},
		{name: "together too much", script: "for i in 1 2 3 4 5 6; do " + self + " hog 100 & done; wait", limits: Limits{MemoryMB: 300}, limit: LimitMemory},
	})
}
