//go:build unix && !linux

package proc

import (
	"context"
	"errors"
	"os"
)

func (h *Holders) take(context.Context, Cmd, []*os.File, *group) (owner, error) {
	return nil, errors.ErrUnsupported
}

// workerWord is never used.
const workerWord = "__work"

func work(string) {}

func (s supervisor) hold(spec) {}
