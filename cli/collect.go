package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// DelayCollection delays the first garbage collection until the heap has twice the usual size, 8 MB
// instead of 4. A start allocates a little more than 3 MB. Just before the first prompt, a
// collection costs a new server more time and memory than it frees.
func DelayCollection() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(200)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
