//go:build !linux

package proc

import (
	"errors"
	"os"
)

// Holders is Linux's: see there. Here it holds nothing.
type Holders struct{}

// Held reports whether the command runs in a holder, which is never.
func (c Cmd) Held() bool { return false }

// Close does nothing.
func (h *Holders) Close() {}

// MemoryFile is not there.
func MemoryFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
