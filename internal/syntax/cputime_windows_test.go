package syntax

import "time"

var start = time.Now()

// cpuTime returns the time since the start: Windows has no call for processor time in package syscall.
func cpuTime() time.Duration { return time.Since(start) }
