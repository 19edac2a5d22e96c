package gitguard

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// changeTime is when a file was last changed in any way, which no program can set.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano()
	}
	return 0
}

// bornAt is not needed here: nothing is protected from running commands.
func bornAt(*os.Root) (at time.Time, known bool) { return at, false }
