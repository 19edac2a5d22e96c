package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are the numbers of system calls that make sockets, or rings that could.
type calls struct {
	arch            uint32 // as the kernel names it to filters
	socket, ioUring uint32
	other           uint32   // another architecture that the kernel runs programs of
	otherDenied     []uint32 // its calls that would
}

var callsOf = map[string]calls{
	"amd64": {unix.AUDIT_ARCH_X86_64, 41, 425, unix.AUDIT_ARCH_I386, []uint32{102, 359, 425}},
	"arm64": {unix.AUDIT_ARCH_AARCH64, 198, 425, unix.AUDIT_ARCH_ARM, []uint32{281, 425}},
}

// families of sockets that may be made.
func families(sockets int) []uint32 {
	if sockets == OurNetwork {
		return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	return []uint32{unix.AF_UNIX}
}

// CanFilterSockets reports whether [Plan.Sockets] works on this architecture.
func CanFilterSockets() bool { _, ok := callsOf[runtime.GOARCH]; return ok }

// filterSockets bounds the sockets that this thread and what it starts can make.
// A network namespace bounds addresses, not what a machine's host offers its
// guests beside them (AF_VSOCK), and io_uring makes sockets that no filter sees.
func (p *Plan) filterSockets() error {
	if p.Sockets == AnySocket {
		return nil
	}
	c, ok := callsOf[runtime.GOARCH]
	if !ok {
		if p.Sockets == OurNetwork {
			return nil // the namespace alone
		}
		return fmt.Errorf("not known how on %s", runtime.GOARCH)
	}
	filter := c.filter(families(p.Sockets))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

const (
	load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jeq  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jge  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	ret  = unix.BPF_RET | unix.BPF_K

	numberAt, archAt, firstArgAt = 0, 4, 16

	allow  = unix.SECCOMP_RET_ALLOW
	denied = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	x32    = 0x40000000 // numbers of a third kind of program on amd64
)

// filter is a program that is walked from its start: each test is followed by the
// answer that it leads to.
func (c calls) filter(families []uint32) []unix.SockFilter {
	var f []unix.SockFilter
	add := func(code uint16, k uint32, yes, no uint8) {
		f = append(f, unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no})
	}
	answer := func(test uint16, k, what uint32) { add(test, k, 0, 1); add(ret, what, 0, 0) }

	add(load, archAt, 0, 0)
	others := len(c.otherDenied)
	add(jeq, c.other, 0, uint8(2+2*others)) // not the other: behind its block
	add(load, numberAt, 0, 0)
	for _, n := range c.otherDenied {
		answer(jeq, n, denied)
	}
	add(ret, allow, 0, 0)
	add(jeq, c.arch, 1, 0)
	add(ret, absent, 0, 0) // neither
	add(load, numberAt, 0, 0)
	if c.arch == unix.AUDIT_ARCH_X86_64 {
		answer(jge, x32, absent)
	}
	answer(jeq, c.ioUring, absent)
	add(jeq, c.socket, 1, 0)
	add(ret, allow, 0, 0)
	add(load, firstArgAt, 0, 0)
	for _, family := range families {
		answer(jeq, family, allow)
	}
	add(ret, denied, 0, 0)
	return f
}
