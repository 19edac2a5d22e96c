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
