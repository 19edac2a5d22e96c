package spec

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Message is a letter and fields, with descriptors. Server, holder and workers exchange messages
// over sockets with message boundaries.
type Message struct {
	Kind   byte
	Fields []string
	Files  []int
}

// Kinds of messages.
const (
	StartWorker  = 'W' // server: id, and the worker's socket. Holder: id, and a pidfd of the worker
	WorkerFailed = 'E' // holder: id, why it did not start
	WorkerGone   = 'G' // holder: id; the worker and all its descendants have ended
	Protect      = 'M' // server: id, a number, as many paths to make read-only, then paths to pin
	Protected    = 'm' // holder: id, the error
	RunCommand   = 'C' // server to worker: which descriptors come, in letters
)

// The longest message, and the most descriptors in a message.
const (
	LongestMessage = 60 << 10
	mostFiles      = 8
)

var ErrMessage = errors.New("a message that cannot be read")

func (m Message) encode() []byte {
	return append([]byte{m.Kind}, strings.Join(m.Fields, "\x00")...)
}

// Number is the first field.
func (m Message) Number() int {
	if len(m.Fields) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(m.Fields[0])
	return n
}

// Text is the second field.
func (m Message) Text() string {
	if len(m.Fields) < 2 {
		return ""
	}
	return m.Fields[1]
}

func Send(socket int, m Message) error {
	var rights []byte
	if len(m.Files) > 0 {
		rights = unix.UnixRights(m.Files...)
	}
	for {
		_, err := unix.SendmsgN(socket, m.encode(), rights, nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return os.NewSyscallError("sendmsg", err)
		}
	}
}

// Receive takes a message. The end of the other side is an error, too.
func Receive(socket int, buf []byte) (m Message, err error) {
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
				m.Files = append(m.Files, files...)
			}
		}
	}
	if n == 0 || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		m.Close()
		if n == 0 {
			return m, syscall.ECONNRESET
		}
		return m, ErrMessage
	}
	m.Kind = buf[0]
	if n > 1 {
		m.Fields = strings.Split(string(buf[1:n]), "\x00")
	}
	return m, nil
}

// Close closes the received descriptors.
func (m *Message) Close() {
	for _, fd := range m.Files {
		unix.Close(fd) // only given away
	}
	m.Files = nil
}

// SocketPair returns the ends of a socket. A child inherits neither.
func SocketPair() (one, other int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	return fds[0], fds[1], os.NewSyscallError("socketpair", err)
}

// Letters for a command's descriptors in addition to its own and the two pipes.
const (
	WithLeft  = "l"
	WithGroup = "g"
	WithInput = "i" // no descriptor: the server writes to the command's stdin once it runs
)

// UnchangedText is the text of a [Protected] message if everything was protected already.
const UnchangedText = "="
