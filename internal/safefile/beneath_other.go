//go:build unix && !linux

package safefile

import (
	"errors"

	"golang.org/x/sys/unix"
)

func openBeneath(int, string) (int, error) { return -1, errors.ErrUnsupported }

// chmodIn follows no link: these systems know the flag.
func chmodIn(dir int, base string, mode uint32) error {
	return unix.Fchmodat(dir, base, mode, unix.AT_SYMLINK_NOFOLLOW)
}
