//go:build unix && !linux

package confine

import (
	"errors"
	"syscall"
)

// Attr does nothing: there are no namespaces.
func (p *Plan) Attr(*syscall.SysProcAttr) {}

// Enter refuses: a plan is Linux's.
func (p *Plan) Enter() error {
	return errors.New("this system has neither namespaces nor Landlock")
}
