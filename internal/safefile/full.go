package safefile

import (
	"errors"
	"runtime"
	"syscall"
)

// NoRoom returns why a write found no room, in words for users: "the disk is full". Of any other error, it returns "".
func NoRoom(err error) string {
	const diskFull, quotaReached = syscall.Errno(112), syscall.Errno(1295) // of Windows
	windows := runtime.GOOS == "windows"
	switch {
	case errors.Is(err, syscall.ENOSPC), windows && errors.Is(err, diskFull):
		return "the disk is full"
	case errors.Is(err, syscall.EDQUOT), windows && errors.Is(err, quotaReached):
		return "your disk quota is used up"
	case errors.Is(err, syscall.EFBIG):
		return "the system allows no file of this size"
	}
	return ""
}
