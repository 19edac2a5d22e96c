//go:build !linux || !(amd64 || arm64)

package agent_test

import (
	"errors"
	"syscall"
)

func breakTurns(string, syscall.Errno) error { return errors.New("only on Linux") }
