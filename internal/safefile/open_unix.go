//go:build unix

package safefile

import (
	"os"
	"syscall"
)

// Flags open a file for reading without waiting for the other end of a named pipe.
const Flags = os.O_RDONLY | syscall.O_NONBLOCK
