package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are numbers of system calls on an architecture, for the filter.
type calls struct {
	arch    uint32 // as the kernel names it
	socket  uint32 // makes sockets
	prlimit uint32 // changes the limits of a process
	keys    []uint32
	denied  []uint32 // make sockets, with arguments invisible to filters
	absent  []uint32 // the same; programs expect kernels without them
}

// native are the calls of this architecture's programs, other the calls of 32-bit programs on its
// kernels.
type architecture struct{ native, other calls }

var architectures = map[string]architecture{
	"amd64": {
		calls{unix.AUDIT_ARCH_X86_64, 41, 302, []uint32{248, 249, 250}, nil, []uint32{425}},
		calls{unix.AUDIT_ARCH_I386, 359, 340, []uint32{286, 287, 288}, []uint32{102, 425}, nil},
	},
	"arm64": {
		calls{unix.AUDIT_ARCH_AARCH64, 198, 261, []uint32{217, 218, 219}, nil, []uint32{425}},
		calls{unix.AUDIT_ARCH_ARM, 281, 369, []uint32{309, 310, 311}, []uint32{425}, nil},
	},
}

// families returns the allowed families of sockets. If all are allowed, it returns nil.
func families(sockets int) []uint32 {
	switch sockets {
	case AnySocket:
		return nil
	case InternetSocket:
		return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	return []uint32{unix.AF_UNIX}
}

// CanFilterSockets reports whether [Plan.Sockets] works on this architecture.
func CanFilterSockets() bool { _, ok := architectures[runtime.GOARCH]; return ok }

// filterCalls bounds the system calls of this thread and its children:
//   - sockets, since neither a network namespace nor the lack of capabilities bounds the services
//     of a machine's host (AF_VSOCK), and io_uring makes sockets unseen by filters
//   - the kernel's keys, which can hold the user's tickets
//   - limits of other processes, which could stop the server, a holder or an editor. In a
//     process namespace, supervisors set RLIMIT_NPROC of their children, and holders notice it.
func (p *Plan) filterCalls() error {
	if !p.Apply() {
		return nil
	}
	a, ok := architectures[runtime.GOARCH]
	if !ok {
		if p.Sockets != LocalSocket {
			return nil // namespaces and the lack of capabilities alone
		}
		return fmt.Errorf("not known how on %s", runtime.GOARCH)
	}
	filter := a.filter(families(p.Sockets), p.Apart() && p.Processes)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

const (
	load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jeq  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jge  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	ret  = unix.BPF_RET | unix.BPF_K
	and  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K

	numberAt, archAt, argsAt = 0, 4, 16 // in the data of a call; each argument has 8 bytes

	allow        = unix.SECCOMP_RET_ALLOW
	denied       = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	notPermitted = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	absent       = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	x32          = 0x40000000 // numbers of a third kind of program on amd64

	typeMask = 0xf // of a socket's type, which has flags beside it
)

// filter returns a program for the kernel. Each test is followed by its answer.
func (a architecture) filter(families []uint32, ownProcesses bool) []unix.SockFilter {
	native := a.native.answers(families, ownProcesses)
	if a.native.arch == unix.AUDIT_ARCH_X86_64 {
		native = append(answer(jge, x32, absent), native...)
	}
	f := []unix.SockFilter{{Code: load, K: archAt}}
	for _, one := range []struct {
		arch    uint32
		answers []unix.SockFilter
	}{{a.other.arch, a.other.answers(families, ownProcesses)}, {a.native.arch, native}} {
		f = append(f, unix.SockFilter{Code: jeq, K: one.arch, Jf: uint8(1 + len(one.answers))}, unix.SockFilter{Code: load, K: numberAt})
		f = append(f, one.answers...)
	}
	return append(f, unix.SockFilter{Code: ret, K: absent}) // neither
}

// answers returns the part of the filter for an architecture. The call's number is loaded.
func (c calls) answers(families []uint32, ownProcesses bool) (f []unix.SockFilter) {
	for _, number := range c.keys {
		f = append(f, answer(jeq, number, notPermitted)...)
	}
	limits := limitsOfOthers(ownProcesses)
	f = append(f, unix.SockFilter{Code: jeq, K: c.prlimit, Jf: uint8(len(limits))})
	f = append(f, limits...)
	if families == nil {
		return append(f, unix.SockFilter{Code: ret, K: allow})
	}
	for _, number := range c.denied {
		f = append(f, answer(jeq, number, denied)...)
	}
	for _, number := range c.absent {
		f = append(f, answer(jeq, number, absent)...)
	}
	return append(f, sockets(c.socket, families)...)
}

// answer returns a test, with the answer if a call matches.
func answer(test uint16, k, what uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: test, K: k, Jf: 1}, {Code: ret, K: what}}
}

// argument loads the lower or upper half of an argument.
func argument(n uint32, upper bool) unix.SockFilter {
	at := argsAt + 8*n
	if upper {
		at += 4
	}
	return unix.SockFilter{Code: load, K: at}
}

// limitsOfOthers answers prlimit(pid, resource, new, old): reading is allowed for any process,
// setting only for the caller.
func limitsOfOthers(ownProcesses bool) []unix.SockFilter {
	f := append([]unix.SockFilter{argument(0, false)}, answer(jeq, 0, allow)...)
	if ownProcesses {
		f = append(f, argument(1, false))
		f = append(f, answer(jeq, unix.RLIMIT_NPROC, allow)...)
	}
	return append(f,
		argument(2, false), unix.SockFilter{Code: jeq, K: 0, Jf: 3},
		argument(2, true), unix.SockFilter{Code: jeq, K: 0, Jf: 1},
		unix.SockFilter{Code: ret, K: allow},
		unix.SockFilter{Code: ret, K: notPermitted})
}

// sockets answers by the call's number: for the socket call, by its arguments.
func sockets(socket uint32, families []uint32) []unix.SockFilter {
	f := []unix.SockFilter{{Code: jeq, K: socket, Jt: 1}, {Code: ret, K: allow}, argument(0, false)}
	for _, family := range families {
		if family != unix.AF_INET && family != unix.AF_INET6 { // the kernel's sockets have a raw type
			f = append(f, answer(jeq, family, allow)...)
		}
	}
	for _, family := range families {
		if family == unix.AF_INET || family == unix.AF_INET6 {
			f = append(
				f,
				unix.SockFilter{Code: jeq, K: family, Jf: 7},
				argument(1, false),
				unix.SockFilter{Code: and, K: typeMask},
				unix.SockFilter{Code: jeq, K: unix.SOCK_RAW, Jf: 1},
				unix.SockFilter{Code: ret, K: denied},
				unix.SockFilter{Code: jeq, K: unix.SOCK_PACKET, Jf: 1}, // another name of AF_PACKET
				unix.SockFilter{Code: ret, K: denied},
				unix.SockFilter{Code: ret, K: allow},
			)
		}
	}
	return append(f, unix.SockFilter{Code: ret, K: denied})
}
