//go:build !linux

package proc

// Harden makes the server dump no core, and lets LD_* and DYLD_* of its
// environment reach no child.
func Harden() error { return hardenCommon() }
