//go:build !linux && !darwin && !freebsd

package codeexec

import "errors"

// peerUID returns an error: this system does not report the peer's user.
func peerUID(int) (int, error) {
	return 0, errors.New("this system does not report the connecting process")
}
