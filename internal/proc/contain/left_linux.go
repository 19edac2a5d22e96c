package contain

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/processes"
)

// processesLeft waits until no other process is left below the supervisor of this one, to which the
// kernel gives orphans. It describes the remaining processes.
func processesLeft() (all []string) {
	for end := time.Now().Add(settle); ; time.Sleep(20 * time.Millisecond) {
		var left []processes.Process
		for _, p := range processes.Below(os.Getppid()) {
			if p.PID != os.Getpid() {
				left = append(left, p)
			}
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().Before(end) {
			continue
		}
		for _, p := range left {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)) // it may have ended
			all = append(all, fmt.Sprintf("process %d: %s", p.PID, bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '})))
		}
		return all
	}
}
