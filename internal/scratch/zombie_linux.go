package scratch

import (
	"bytes"
	"fmt"
	"os"
)

// zombie reports whether the process has ended, and its parent has not asked for its exit code yet.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, found := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	return err == nil && found && len(rest) > 0 && (rest[0] == 'Z' || rest[0] == 'X')
}
