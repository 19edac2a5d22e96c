// Package spec defines the data exchanged between the server and its supervisors.
package spec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// Modes of this binary: its first argument if it is not the server.
const (
	Supervise = "__supervise" // the supervisor of a child
	HostShell = "__shell"     // the supervisor of a child started by another program
	Inside    = "__inside"    // a second supervisor, in namespaces made by the first
	Work      = "__work"      // a worker of a holder, see package supervisor
)

// Environ returns the environment of a supervisor. It contains none of our variables: other
// processes may read it.
func Environ() []string {
	if Race { // each process would sleep a second before it ends
		return []string{"GOMAXPROCS=2", "GORACE=atexit_sleep_ms=0"}
	}
	return []string{"GOMAXPROCS=2"}
}

// Served is set once the program has called supervisor.Main. If it has not, a supervisor would
// run the program itself, such as all tests of a test binary, so package proc starts none.
var Served atomic.Bool

// DefaultGrace is the grace period if none was given.
const DefaultGrace = 200 * time.Millisecond

// LastTries is how long the supervisor continues to kill surviving processes. A process stuck in
// the kernel dies when it leaves the kernel; no call waits for it.
const LastTries = 5 * time.Second

// WakeEvery is how often a stopped supervisor is continued while it must end.
const WakeEvery = 20 * time.Millisecond

// LeftFD is the descriptor of a held child for its last output: a number unused by shells and
// scripts.
const LeftFD = 57

// Spec is the program for a supervisor to start. It is sent over the control pipe and not in
// arguments or the environment, which other processes may read.
type Spec struct {
	Path, Dir string
	Scratch   string
	Trusted   bool
	PTY       bool // the child's stdin becomes its controlling terminal
	Hold      bool // start nothing, but hold the sandbox for others: see holder
	Limits    Limits
	Plan      *confine.Plan
	Args, Env []string
}

var errNUL = errors.New("a NUL byte in the command, its folder or its environment")

// Encode writes the length first, then NUL-separated fields. The format is plain, so the supervisor
// starts without the cost of a real one.
func (s Spec) Encode() ([]byte, error) {
	plan := s.Plan
	if plan == nil {
		plan = &confine.Plan{}
	}
	bounds := append(s.Limits.fields(), plan.Fields()...)
	fields := append([]string{s.Path, s.Dir, s.Scratch, strconv.FormatBool(s.PTY), strconv.FormatBool(s.Trusted), strconv.FormatBool(s.Hold), strconv.Itoa(len(bounds))}, bounds...)
	fields = append(append(fields, strconv.Itoa(len(s.Args))), s.Args...)
	fields = append(fields, s.Env...)
	for _, f := range fields {
		if strings.IndexByte(f, 0) >= 0 {
			return nil, errNUL
		}
	}
	text := strings.Join(fields, "\x00")
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

func Read(r io.Reader) (Spec, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return Spec{}, fmt.Errorf("reading what to start: %w", err)
	}
	text := make([]byte, binary.LittleEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, text); err != nil {
		return Spec{}, fmt.Errorf("reading what to start: %w", err)
	}
	fields := strings.Split(string(text), "\x00")
	if len(fields) < 7 {
		return Spec{}, errors.New("the description of the process is not complete")
	}
	s := Spec{Path: fields[0], Dir: fields[1], Scratch: fields[2], PTY: fields[3] == "true", Trusted: fields[4] == "true", Hold: fields[5] == "true"}
	bounds, fields, err := counted(fields[6:])
	if err == nil {
		s.Args, s.Env, err = counted(fields)
	}
	if err != nil || len(s.Args) == 0 || len(bounds) < limitFields {
		return Spec{}, errors.New("the description of the process is not valid")
	}
	s.Limits = limitsFrom(bounds)
	s.Plan, err = confine.FromFields(bounds[limitFields:])
	return s, err
}

// counted takes a number, and as many fields.
func counted(fields []string) (taken, rest []string, err error) {
	if len(fields) == 0 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil || n < 0 || n > len(fields)-1 {
		return nil, nil, errors.New("a wrong count")
	}
	return fields[1 : 1+n : 1+n], fields[1+n:], nil
}

// DetachMessage is the stop of a living server without further need of the supervisor.
const DetachMessage time.Duration = -1

// WriteStop writes a stop: a grace period of eight bytes. The end of the pipe is a stop as well. If
// no DetachMessage preceded it, the server has died.
func WriteStop(w io.Writer, grace time.Duration) error {
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(grace)))
	return err
}

func ReadStop(r io.Reader) (time.Duration, error) {
	var b [8]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	return time.Duration(binary.LittleEndian.Uint64(b[:])), nil
}

// ParseLine splits a message into its kind and the rest. The rest is returned as text, and its
// numbers apart.
func ParseLine(line string) (kind string, numbers []int, text string) {
	kind, text, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	for _, f := range strings.Fields(text) {
		if n, err := strconv.Atoi(f); err == nil {
			numbers = append(numbers, n)
		}
	}
	return kind, numbers, text
}

// ExitCode is an exit code as a shell reports it: 128+signal if a signal ended the process.
func ExitCode(code, signal int) int {
	if signal != 0 {
		return 128 + signal
	}
	return code
}
