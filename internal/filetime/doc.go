// Package filetime reads the clock of file stamps, and distinguishes changes before and after an
// instant.
//
// Linux stamps files by a clock with one step per kernel tick: up to 10 ms, and longer on a busy
// virtual machine. Two changes within a tick have equal stamps.
package filetime

import (
	"context"
	"time"
)

// limit is how long [Pass] waits for a stopped clock.
const limit = time.Second

// Pass returns when later file changes will have later stamps than all changes before the call. It
// waits by the real clock, for a tick at most, also if a test controls the time.
func Pass(ctx context.Context) {
	for began := Now(); Stamp() <= began && Now()-began < int64(limit) && ctx.Err() == nil; {
		nap()
	}
}
