//go:build amd64 || arm64

package storetest

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Disk intercepts SQLite's system calls. It fails no call until [Disk.Break]. Create it with
// [Take].
type Disk struct {
	mu     sync.Mutex
	after  int           // calls before the first failure
	errno  syscall.Errno // of later calls; 0: none fails
	reads  bool          // reads fail, else writes
	failed int           // number of failed calls
	calls  int           // number of calls since the last Break or Mend
}

// Break lets the given number of writes, or reads, succeed. Later calls fail with errno until
// [Disk.Repair]. A write to a full disk writes half of its data first.
func (d *Disk) Break(errno syscall.Errno, reads bool, after int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errno, d.reads, d.after, d.failed, d.calls = errno, reads, after, 0, 0
}

// Repair ends the failures and returns how many calls have failed.
func (d *Disk) Repair() (failed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	failed = d.failed
	d.errno, d.failed = 0, 0
	return failed
}

// fails reports whether a call fails, and whether it is the first failure.
func (d *Disk) fails(read bool) (errno syscall.Errno, first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.errno == 0 || d.reads != read {
		return 0, false
	}
	d.calls++
	if d.calls <= d.after {
		return 0, false
	}
	d.failed++
	return d.errno, d.failed == 1
}

// transfer is pread or pwrite, with SQLite's signature.
type transfer = func(tls *libc.TLS, fd int32, buf uintptr, n uint64, offset int64) int64

// Take places a Disk between SQLite and the operating system, for this process.
func Take() (*Disk, error) {
	d := &Disk{}
	refused := func(tls *libc.TLS, errno syscall.Errno) int64 {
		at := libc.X__errno_location(tls)
		**(**int32)(unsafe.Pointer(&at)) = int32(errno)
		return -1
	}
	read := transfer(func(tls *libc.TLS, fd int32, buf uintptr, n uint64, offset int64) int64 {
		if errno, _ := d.fails(true); errno != 0 {
			return refused(tls, errno)
		}
		return int64(libc.Xpread(tls, fd, buf, n, offset))
	})
	write := transfer(func(tls *libc.TLS, fd int32, buf uintptr, n uint64, offset int64) int64 {
		errno, first := d.fails(false)
		if errno == syscall.ENOSPC && first && n > 1 {
			return int64(libc.Xpwrite(tls, fd, buf, n/2, offset))
		}
		if errno != 0 {
			return refused(tls, errno)
		}
		return int64(libc.Xpwrite(tls, fd, buf, n, offset))
	})
	for name, call := range map[string]transfer{"pread": read, "pread64": read, "pwrite": write, "pwrite64": write} {
		if err := replace(name, call); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// replace makes SQLite call f for a system call.
func replace(name string, f transfer) error {
	tls := libc.NewTLS()
	defer tls.Close()
	at := sqlite3.Xsqlite3_vfs_find(tls, 0)
	vfs := *(**sqlite3.Tsqlite3_vfs)(unsafe.Pointer(&at))
	set := *(*func(tls *libc.TLS, vfs, name, f uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{vfs.FxSetSystemCall}))
	c, err := libc.CString(name)
	if err != nil {
		return fmt.Errorf("taking %s: %w", name, err)
	}
	defer libc.Xfree(tls, c)
	kept = append(kept, f)
	if code := set(tls, at, c, *(*uintptr)(unsafe.Pointer(&kept[len(kept)-1]))); code != sqlite3.SQLITE_OK {
		return fmt.Errorf("taking %s: SQLite answers %d", name, code)
	}
	return nil
}

// kept are functions referenced only by SQLite, where the garbage collector does not look.
var kept []transfer
