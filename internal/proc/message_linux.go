package proc

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Server, holder and workers talk over sockets that keep messages apart. A message is a
// letter and fields, with descriptors beside it.
type message struct {
	kind   byte
	fields []string
	files  []int
}

// Kinds of messages.
const (
	startWorker  = 'W' // server: id, and the worker's socket. Holder: id, and a pidfd of the worker
	workerFailed = 'E' // holder: id, why it did not start
	workerGone   = 'G' // holder: id; the worker and everything below it has gone
	protect      = 'M' // server: id, a number of paths, that many to be made read-only, others to be pinned
	protected    = 'm' // holder: id, what went wrong
	runCommand   = 'C' // server to worker: which descriptors come, in letters
)

// The longest message, and the most descriptors in one.
const (
	longestMessage = 60 << 10
	mostFiles      = 8
)

var errMessage = errors.New("a message that cannot be read")

func (m message) encode() []byte {
	return append([]byte{m.kind}, strings.Join(m.fields, "\x00")...)
}

// number is the first field.
func (m message) number() int {
	if len(m.fields) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(m.fields[0])
	return n
}

// text is the second field.
func (m message) text() string {
	if len(m.fields) < 2 {
		return ""
	}
	return m.fields[1]
}

func send(socket int, m message) error {
	var rights []byte
	if len(m.files) > 0 {
		rights = unix.UnixRights(m.files...)
	}
	for {
		_, err := unix.SendmsgN(socket, m.encode(), rights, nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return os.NewSyscallError("sendmsg", err)
		}
	}
}

// receive takes a message. The end of the other side is an error, too.
func receive(socket int, buf []byte) (m message, err error) {
	rights := make([]byte, unix.CmsgSpace(4*mostFiles))
	n, rightsN, flags := 0, 0, 0
	for {
		n, rightsN, flags, _, err = unix.Recvmsg(socket, buf, rights, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return m, err
	}
	if rightsN > 0 {
		if all, err := unix.ParseSocketControlMessage(rights[:rightsN]); err == nil {
			for _, one := range all {
				files, _ := unix.ParseUnixRights(&one)
				m.files = append(m.files, files...)
			}
		}
	}
	if n == 0 || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		m.close()
		if n == 0 {
			return m, syscall.ECONNRESET
		}
		return m, errMessage
	}
	m.kind = buf[0]
	if n > 1 {
		m.fields = strings.Split(string(buf[1:n]), "\x00")
	}
	return m, nil
}

// close closes the descriptors that came.
func (m *message) close() {
	for _, fd := range m.files {
		unix.Close(fd) //nolint:errcheck // only given away
	}
	m.files = nil
}

// socketPair is two ends of one socket, neither of which a child inherits.
func socketPair() (one, other int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	return fds[0], fds[1], os.NewSyscallError("socketpair", err)
}
