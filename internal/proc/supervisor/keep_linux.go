package supervisor

import (
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// keeper renews the protection of paths in a holder. If a program outside replaces a file, as the
// user's git does with its settings, the kernel removes the file's mount. The new file would be
// writable. A keeper notices it and protects the new file. All methods but watch are called by the
// mounting thread.
type keeper struct {
	readOnly, pinned map[string]bool // protected paths
}

// newKeeper records a plan's protected paths.
func newKeeper(plan *confine.Plan) *keeper {
	k := &keeper{map[string]bool{}, map[string]bool{}}
	k.note(plan.ReadOnly, slices.Concat(plan.Pinned, plan.Links))
	return k
}

func (k *keeper) note(readOnly, pinned []string) {
	for _, path := range readOnly {
		k.readOnly[path] = true
	}
	for _, path := range pinned {
		k.pinned[path] = true
	}
}

// protect protects the unprotected paths. changed reports whether there are any.
func (k *keeper) protect(readOnly, pinned []string) (changed bool, err error) {
	k.note(readOnly, pinned)
	open := func(look func(string) protection) func(string) bool {
		return func(path string) bool { return look(path) != unprotected }
	}
	readOnly, pinned = slices.DeleteFunc(readOnly, open(readOnlyAt)), slices.DeleteFunc(pinned, open(pinnedAt))
	if len(readOnly)+len(pinned) == 0 {
		return false, nil
	}
	return true, confine.Protect(readOnly, pinned)
}

// protection is the state of a path. A single system call finds it, since the file can be replaced
// between two calls.
type protection int

const (
	isMissing protection = iota
	unprotected
	isProtected
)

// readOnlyAt reports whether a path lies in a read-only mount.
func readOnlyAt(path string) protection {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case err == unix.ENOENT:
		return isMissing
	case err != nil:
		return isProtected // as its folder is
	}
	defer unix.Close(fd) // only a handle
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) == nil && st.Flags&unix.ST_RDONLY != 0 {
		return isProtected
	}
	return unprotected
}

// pinnedAt reports whether a path is a mount.
func pinnedAt(path string) protection {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &st)
	switch {
	case err == unix.ENOENT:
		return isMissing
	case err != nil, st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0:
		return isProtected
	}
	return unprotected
}

// How long a keeper waits for a change. The kernel reports only mounts, and reports before the new
// file is in place.
const (
	untilTold    = -1 * time.Millisecond
	missingEvery = 20 * time.Millisecond  // something was removed, and may be made again
	replacing    = time.Millisecond       // something cannot be protected yet
	mostWait     = 250 * time.Millisecond // either, after a while
)

// renew protects paths whose file was replaced. It returns how long to wait for the next change.
func (k *keeper) renew() (wait time.Duration) {
	readOnly, pinned := slices.Sorted(maps.Keys(k.readOnly)), slices.Sorted(maps.Keys(k.pinned))
	k.protect(slices.Clone(readOnly), slices.Clone(pinned)) // looked at below
	wait = untilTold
	for _, path := range readOnly {
		wait = shorter(wait, waitFor(readOnlyAt(path)))
	}
	for _, path := range pinned {
		wait = shorter(wait, waitFor(pinnedAt(path)))
	}
	return wait
}

func waitFor(p protection) time.Duration {
	switch p {
	case unprotected:
		return replacing
	case isMissing:
		return missingEvery
	}
	return untilTold
}

// shorter returns the shorter of two waits; a negative wait has no end.
func shorter(a, b time.Duration) time.Duration {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// watch renews whatever loses its mount, until the process ends.
func (k *keeper) watch(mounts chan<- func()) {
	// Not by os.Open, with which the runtime would poll it, too: each change is reported only once.
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)              // only polled
	for wait := time.Duration(0); ; { // changes before the opening are not reported
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}
		told, err := unix.Poll(poll, int(wait.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		next := make(chan time.Duration)
		mounts <- func() { next <- k.renew() }
		if again := <-next; again > 0 && told == 0 {
			wait = min(max(again, 2*wait), mostWait)
		} else {
			wait = again
		}
	}
}
