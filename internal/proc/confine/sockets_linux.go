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
	otherSocket     uint32   // its call that makes sockets
	otherDenied     []uint32 // its calls that could, and whose arguments no filter sees
}

var callsOf = map[string]calls{
	"amd64": {unix.AUDIT_ARCH_X86_64, 41, 425, unix.AUDIT_ARCH_I386, 359, []uint32{102, 425}},
	"arm64": {unix.AUDIT_ARCH_AARCH64, 198, 425, unix.AUDIT_ARCH_ARM, 281, []uint32{425}},
}

// families of sockets that may be made.
func families(sockets int) []uint32 {
	if sockets == InternetSocket {
		return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	return []uint32{unix.AF_UNIX}
}

// CanFilterSockets reports whether [Plan.Sockets] works on this architecture.
func CanFilterSockets() bool { _, ok := callsOf[runtime.GOARCH]; return ok }

// filterSockets bounds the sockets that this thread and what it starts can make.
// Neither a network namespace nor the lack of capabilities bounds what a machine's host
// offers its guests (AF_VSOCK), and io_uring makes sockets that no filter sees.
func (p *Plan) filterSockets() error {
	if p.Sockets == AnySocket {
		return nil
	}
	c, ok := callsOf[runtime.GOARCH]
	if !ok {
		if p.Sockets == InternetSocket {
			return nil // namespaces and the lack of capabilities alone
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
	and  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K

	numberAt, archAt, familyAt, typeAt = 0, 4, 16, 24

	allow  = unix.SECCOMP_RET_ALLOW
	denied = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	x32    = 0x40000000 // numbers of a third kind of program on amd64

	typeMask = 0xf // of a socket's type, which has flags beside it
)

// filter is a program that is walked from its start: each test is followed by the
// answer that it leads to.
func (c calls) filter(families []uint32) []unix.SockFilter {
	theirs := ofNumbers(c.otherSocket, families)
	for _, n := range c.otherDenied {
		theirs = append(answer(jeq, n, denied), theirs...)
	}
	ours := append(answer(jeq, c.ioUring, absent), ofNumbers(c.socket, families)...)
	if c.arch == unix.AUDIT_ARCH_X86_64 {
		ours = append(answer(jge, x32, absent), ours...)
	}
	f := []unix.SockFilter{{Code: load, K: archAt}}
	for _, one := range []struct {
		arch uint32
		then []unix.SockFilter
	}{{c.other, theirs}, {c.arch, ours}} {
		f = append(f, unix.SockFilter{Code: jeq, K: one.arch, Jf: uint8(1 + len(one.then))}, unix.SockFilter{Code: load, K: numberAt})
		f = append(f, one.then...)
	}
	return append(f, unix.SockFilter{Code: ret, K: absent}) // neither
}

// answer is a test, and what is returned if it is met.
func answer(test uint16, k, what uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: test, K: k, Jf: 1}, {Code: ret, K: what}}
}

// ofNumbers answers by a system call's number: what makes sockets, by its arguments.
func ofNumbers(socket uint32, families []uint32) []unix.SockFilter {
	f := []unix.SockFilter{{Code: jeq, K: socket, Jt: 1}, {Code: ret, K: allow}, {Code: load, K: familyAt}}
	for _, family := range families {
		if family != unix.AF_INET && family != unix.AF_INET6 { // the kernel's own have a raw type
			f = append(f, answer(jeq, family, allow)...)
		}
	}
	for _, family := range families {
		if family == unix.AF_INET || family == unix.AF_INET6 {
			f = append(
				f,
				unix.SockFilter{Code: jeq, K: family, Jf: 5},
				unix.SockFilter{Code: load, K: typeAt},
				unix.SockFilter{Code: and, K: typeMask},
				unix.SockFilter{Code: jeq, K: unix.SOCK_RAW, Jf: 1},
				unix.SockFilter{Code: ret, K: denied},
				unix.SockFilter{Code: ret, K: allow},
			)
		}
	}
	return append(f, unix.SockFilter{Code: ret, K: denied})
}
