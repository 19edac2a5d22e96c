//go:build unix && !linux

package processes

// Process is a process of this system.
type Process struct{ PID, Parent, Group int }

// Below returns nil: this system does not list the descendants of another process.
func Below(int) []Process { return nil }

// Work returns false for ok: this system does not tell.
func Work(int) (ticks uint64, waits, ok bool) { return 0, false, false }
