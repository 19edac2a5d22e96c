//go:build !linux

package proc

import (
	"context"
	"errors"
	"os"
)

// Holders is Linux's: see there. Here it holds nothing.
type Holders struct{}

// Held reports whether the command runs in a holder, which is never.
func (c Cmd) Held() bool { return false }

// Close does nothing.
func (h *Holders) Close() {}

// Protect does nothing: no command is held.
func (h *Holders) Protect(context.Context, []string, []string) error { return nil }

// MemoryFile is not there.
func MemoryFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
