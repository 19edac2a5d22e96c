package delegate_test

import "golang.org/x/sys/unix"

// landlocked reports whether the kernel supports Landlock.
func landlocked() bool {
	version, _, failed := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return failed == 0 && version > 0
}
