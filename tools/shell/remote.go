package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// NewRemote returns a shell that runs commands on a backend. dir is the first workspace
// folder, if the backend shares it. broken is the error of a missing backend: every command
// fails with it. Nil: there is a backend.
func NewRemote(b backend.Backend, broken error, dir string) *Shell {
	s := &Shell{program: "sh", on: b, broken: broken}
	if b != nil && b.Shared() {
		s.first, s.state.dir = dir, dir
	}
	return s
}

func (s *Shell) openBackend(ctx context.Context) error {
	if s.broken != nil {
		return s.broken
	}
	if s.on == nil {
		return nil
	}
	place, err := s.on.Open(ctx)
	if err != nil {
		return err
	}
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	if s.home == "" {
		s.program, s.home = place.Shell, place.Home
	}
	if s.state.dir == "" {
		s.first, s.state.dir = place.Dir, place.Dir
	}
	return nil
}

// isRemote reports whether commands see other files than the server's.
func (s *Shell) isRemote() bool { return s.on != nil && !s.on.Shared() || s.broken != nil }

// folderThere returns a working directory on a backend with its own files.
func (s *Shell) folderThere(dir string) string {
	if !path.IsAbs(dir) {
		dir = path.Join(s.first, dir)
	}
	return path.Clean(dir)
}

// remoteWrapper is wrapper for a remote shell. Its state comes with the output, between
// marks. stderr goes to stdout, because two streams could arrive in another order and
// between the marks.
const remoteWrapper = `exec 9>&1 2>&1; __hermes_dump() { { printf '\n%%s\n' %[1]s; export -p; echo :; pwd -P; printf '%%s\n' %[1]s; } >&9; return "$1"; }; ` +
	`trap '{ __hermes_dump "$?"; } 2>/dev/null' EXIT; __hermes=$1; set --; eval "$__hermes"; { __hermes_dump "$?"; } 2>/dev/null`

// runRemote runs a command on the backend.
func (s *Shell) runRemote(ctx context.Context, c Command, before shellState) (Outcome, error) {
	if err := s.openBackend(ctx); err != nil {
		return Outcome{}, err
	}
	mark := "hermes-" + rand.Text()
	out := &cutter{mark: []byte("\n" + mark + "\n"), to: c.Output}
	c.Output = out
	child := s.process(c, before, []string{"-c", fmt.Sprintf(remoteWrapper, mark), s.Name(), c.Text})
	exit, timedOut, err := runLimited(ctx, child, c.Timeout)
	out.end()
	var tooLarge []string
	if err == nil && !timedOut {
		if after, ok := parseState(out.cut, nil); ok {
			if c.pty {
				after.restore("TERM", before)
			}
			after.env, tooLarge = withoutTooLarge(after.env, remoteLimit)
			s.setState(after, c.Dir == "")
		}
	}
	return Outcome{Exit: exit, Cwd: s.Cwd(), TimedOut: timedOut, TooLarge: tooLarge}, err
}

// process returns the local program that runs the backend's shell with args.
func (s *Shell) process(c Command, state shellState, args []string) proc.Cmd {
	argv := []string{"env"}
	if state.env != nil {
		argv = append(append(argv, "-i"), state.env...)
	} else {
		argv = append(append(argv, dumbTerminal), proc.Unattended(nil, nil)...)
	}
	if c.pty {
		argv = append(argv, terminalType)
	}
	argv = slices.Concat(argv, []string{s.Name()}, s.dialect().words, args)
	child := c.process(state)
	child.Dir, child.Env, child.Limits, child.Trusted = "/", backend.Environ(s.first), proc.Limits{}, true
	if !c.pty {
		argv = backend.Supervised(argv, c.input != nil)
	}
	if c.input == nil {
		child.Stdin = newKeyboard(false) // held open: its end would end the command
	}
	dir := state.dir
	if c.Dir != "" {
		dir = c.Dir
	}
	child.Args = s.on.Args(argv, dir, c.pty)
	return child
}

// cutter passes output on, without the text between two marks.
type cutter struct {
	mark   []byte
	to     io.Writer // nil: the output is dropped
	held   []byte    // may be the beginning of a mark
	within bool
	cut    []byte // the text between the last two marks
	lines  []byte // the text after an open mark so far
}

func (w *cutter) Write(b []byte) (int, error) {
	n := len(b)
	w.held = bytes.ReplaceAll(append(w.held, b...), []byte("\r\n"), []byte("\n"))
	for {
		before, after, found := bytes.Cut(w.held, w.mark)
		if !found {
			break
		}
		w.pass(before)
		if w.within {
			w.cut, w.lines = append(w.lines, '\n'), nil
		}
		w.within, w.held = !w.within, slices.Clone(after)
	}
	keep := w.pending()
	w.pass(w.held[:len(w.held)-keep])
	w.held = slices.Clone(w.held[len(w.held)-keep:])
	return n, nil
}

// pending is how much of the end could be the beginning of a mark.
func (w *cutter) pending() int {
	if bytes.HasSuffix(w.held, []byte("\r")) {
		return 1
	}
	for n := min(len(w.mark)-1, len(w.held)); n > 0; n-- {
		if bytes.HasSuffix(w.held, w.mark[:n]) {
			return n
		}
	}
	return 0
}

func (w *cutter) pass(b []byte) {
	switch {
	case len(b) == 0:
	case w.within:
		if len(w.lines)+len(b) <= stateLimit {
			w.lines = append(w.lines, b...)
		}
	case w.to != nil:
		w.to.Write(b) // a capture never fails
	}
}

// end passes the held text on.
func (w *cutter) end() {
	w.pass(w.held)
	w.held = nil
}

// explainRemoteExit explains exit codes of the connecting program.
func (s *Shell) explainRemoteExit(o Outcome) string {
	if s.on == nil || s.on.Shared() || o.Code != 255 || o.TimedOut {
		return ""
	}
	return "exit code 255: of the command itself, or ssh has lost the connection; the next command connects again"
}
