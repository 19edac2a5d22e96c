package proc

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden makes the server unreadable to its children: no /proc/PID/environ, no /proc/PID/mem, no
// core dump, and LD_* of its environment reaches no child. serve, acp and run call it first. See
// dropReaders for the effect on root.
func Harden() error {
	var errs []error
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		errs = append(errs, fmt.Errorf("making the process undumpable: %w", err))
	}
	return errors.Join(append(errs, hardenCommon())...)
}
