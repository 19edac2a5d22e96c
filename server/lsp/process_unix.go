//go:build unix

package lsp

import (
	"errors"
	"syscall"
)

// processAlive tells whether pid exists; one of another user does.
func processAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
