//go:build !linux

package filetime

import (
	"runtime"
	"time"
)

// Now returns the current time in nanoseconds.
func Now() int64 { return time.Now().UnixNano() }

// Stamp returns the time in nanoseconds by the clock of file stamps.
func Stamp() int64 { return Now() }

func nap() { runtime.Gosched() }
