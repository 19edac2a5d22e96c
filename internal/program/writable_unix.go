//go:build unix

package program

import "golang.org/x/sys/unix"

// writable reports whether we may write something.
func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }
