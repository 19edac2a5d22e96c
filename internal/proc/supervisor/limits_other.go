//go:build unix && !linux

package supervisor

import (
	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"
)

// lower sets the limit on open files on ourselves for the fork alone; raise
// restores ours. Descendants cannot be counted on this system, so the other limits are not
// enforced.
func lower(l spec.Limits, _ neighbors) (raise func(pid *int)) {
	var was unix.Rlimit
	if l.OpenFiles <= 0 || unix.Getrlimit(unix.RLIMIT_NOFILE, &was) != nil {
		return func(*int) {}
	}
	now := was
	now.Cur = min(was.Max, uint64(l.OpenFiles))
	unix.Setrlimit(unix.RLIMIT_NOFILE, &now) // lowering is always allowed
	return func(*int) {
		unix.Setrlimit(unix.RLIMIT_NOFILE, &was) // as it was
	}
}

func watchLimits(spec.Limits, *tree) <-chan int { return nil }
