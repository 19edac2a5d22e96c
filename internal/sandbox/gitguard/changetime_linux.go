package gitguard

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// changeTime is when a file was last changed in any way, which no program can set.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}

// bornAt returns when a folder was made, which no program can set. If the file system does not
// report it, known is false.
func bornAt(root *os.Root) (at time.Time, known bool) {
	f, err := root.Open(".")
	if err != nil {
		return at, false
	}
	defer f.Close() // only read
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return at, false
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), true
}
