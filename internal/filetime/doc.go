// Package filetime reads the clock that stamps files, and tells changes before an instant from
// those after it.
//
// Linux stamps files by a clock that advances only with each tick of the kernel: up to 10 ms,
// and longer on a busy virtual machine. Two changes within a tick have equal stamps.
package filetime

import (
	"context"
	"time"
)

// limit is how long [Pass] waits for a clock that does not advance.
const limit = time.Second

// Pass returns when files that change later have later stamps than files that have changed
// before the call. It waits by the real clock, for a tick at most, also where a test controls
// the time.
func Pass(ctx context.Context) {
	for began := Now(); Stamp() <= began && Now()-began < int64(limit) && ctx.Err() == nil; {
		nap()
	}
}
