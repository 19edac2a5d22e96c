//go:build unix && !linux

package proc

import "golang.org/x/sys/unix"

// lower sets the limit on open files on ourselves for the fork alone; what it
// returns puts ours back. What runs below cannot be counted on this system, so the
// other limits are not kept.
func (l Limits) lower(neighbors) (raise func(pid *int)) {
	var was unix.Rlimit
	if l.OpenFiles <= 0 || unix.Getrlimit(unix.RLIMIT_NOFILE, &was) != nil {
		return func(*int) {}
	}
	now := was
	now.Cur = min(was.Max, uint64(l.OpenFiles))
	unix.Setrlimit(unix.RLIMIT_NOFILE, &now) //nolint:errcheck // lowering is always allowed
	return func(*int) {
		unix.Setrlimit(unix.RLIMIT_NOFILE, &was) //nolint:errcheck // back to what it was
	}
}

func (l Limits) watch(*tree) <-chan int { return nil }
