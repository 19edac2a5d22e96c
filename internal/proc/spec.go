//go:build unix

package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// spec is what the supervisor has to start. It travels over the control pipe and
// not in arguments or the environment, which other processes may read.
type spec struct {
	path, dir string
	scratch   string
	trusted   bool
	pty       bool // the child's stdin is a terminal that becomes its own
	hold      bool // start nothing, but hold the sandbox for others: see holder
	limits    Limits
	plan      *confine.Plan
	args, env []string
}

var errNUL = errors.New("a NUL byte in the command, its folder or its environment")

// encode puts the length first, then NUL-separated fields: a format so plain that
// the supervisor starts without the cost of a real one.
func (s spec) encode() ([]byte, error) {
	plan := s.plan
	if plan == nil {
		plan = &confine.Plan{}
	}
	bounds := append(s.limits.fields(), plan.Fields()...)
	fields := append([]string{s.path, s.dir, s.scratch, strconv.FormatBool(s.pty), strconv.FormatBool(s.trusted), strconv.FormatBool(s.hold), strconv.Itoa(len(bounds))}, bounds...)
	fields = append(append(fields, strconv.Itoa(len(s.args))), s.args...)
	fields = append(fields, s.env...)
	for _, f := range fields {
		if strings.IndexByte(f, 0) >= 0 {
			return nil, errNUL
		}
	}
	text := strings.Join(fields, "\x00")
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

func readSpec(r io.Reader) (spec, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return spec{}, fmt.Errorf("reading what to start: %w", err)
	}
	text := make([]byte, binary.LittleEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, text); err != nil {
		return spec{}, fmt.Errorf("reading what to start: %w", err)
	}
	fields := strings.Split(string(text), "\x00")
	if len(fields) < 7 {
		return spec{}, errors.New("too little was said of what to start")
	}
	s := spec{path: fields[0], dir: fields[1], scratch: fields[2], pty: fields[3] == "true", trusted: fields[4] == "true", hold: fields[5] == "true"}
	bounds, fields, err := counted(fields[6:])
	if err == nil {
		s.args, s.env, err = counted(fields)
	}
	if err != nil || len(s.args) == 0 || len(bounds) < limitFields {
		return spec{}, errors.New("what to start was said wrongly")
	}
	s.limits = limitsFrom(bounds)
	s.plan, err = confine.FromFields(bounds[limitFields:])
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

// goodbye is a stop by a server that needs the supervisor no longer, and lives.
const goodbye time.Duration = -1

// A stop is a grace period of eight bytes. The end of the pipe is one as well; when
// no goodbye came before it, the server has died.
func writeStop(w io.Writer, grace time.Duration) error {
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(grace)))
	return err
}

func readStop(r io.Reader) (time.Duration, error) {
	var b [8]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	return time.Duration(binary.LittleEndian.Uint64(b[:])), nil
}
