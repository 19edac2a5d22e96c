//go:build unix && !linux

package proc

import "syscall"

// group is Linux's; here there is none.
type group struct{}

func newGroup(Limits) *group { return nil }

func (*group) use(*syscall.SysProcAttr) {}

func (*group) exceeded() string { return "" }

func (*group) remove() {}
