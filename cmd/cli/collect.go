package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// DelayCollection lets the first garbage collection wait for twice the usual heap, 8 MB in
// place of 4. A start allocates a little more than 3 MB. To collect that costs a new server more
// time and memory than it frees, just before the first prompt.
func DelayCollection() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(200)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
