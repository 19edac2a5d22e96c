package shell

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// Shell is the shared state of a session's commands: the working directory and the exported
// environment. Each command runs in a separate shell process. It starts from the current state and
// stores its own at its end, unless it cannot have changed it. If commands run concurrently, the
// last to end decides. A command changes nothing if it is killed or times out, if it replaces its
// shell (exec), or if it calls exit after it has set its own EXIT trap.
//
// On Windows commands run under cmd.exe and no state is kept.
type Shell struct {
	// Timeout is a command's when it asks for no other; zero is 180 s. Set it before
	// the first.
	Timeout time.Duration
	// Path returns the PATH of the first command. If ok is false, the next command tries again.
	// Nil: the server's PATH. PathFrom names its origin; nil: the server.
	Path     userpath.Finder
	PathFrom func() string

	program string   // absolute
	first   string   // the initial directory of the session
	began   []string // the initial environment of the session

	on     backend.Backend // where commands run; nil: here
	broken error           // why they run nowhere
	home   string          // of the user there

	stateMu sync.Mutex
	hasPath bool // PATH comes from Path, or a command has changed it
	state   shellState
	last    leftState
}

type shellState struct {
	dir string
	env []string
}

// leftState is the text stored by a command, and its parsed state. Most commands store the same
// text as the previous command.
type leftState struct {
	text   []byte
	before []string
	after  shellState
}

// Command is a command line for a [Shell].
type Command struct {
	Text    string
	Dir     string        // run there, and leave the session's folder as it is; empty: the session's
	Timeout time.Duration // zero: none but the context's
	Output  io.Writer     // stdout and stderr in their order; nil: thrown away

	pty   bool        // with a separate terminal
	input io.Reader   // only in the background: the typed text
	from  *shellState // start from this state, which was judged; nil: from the session's as it is
	start starter     // how the shell is started; nil: as a child of ours
	box   *sandbox.Box
	path  *string                                  // PATH of the session, if the command's differs
	runs  func(ctx context.Context) (ended func()) // called when the process runs
}

// running reports the process of c as running.
func (c Command) running(ctx context.Context) (ended func()) {
	if c.runs == nil {
		return func() {}
	}
	return c.runs(ctx)
}

// starter runs a child until it ends or the limit is over, which is no failure.
type starter func(ctx context.Context, c proc.Cmd, limit time.Duration) (exit proc.Exit, timedOut bool, err error)

// Outcome is how a command ended.
type Outcome struct {
	proc.Exit
	Cwd      string // the session's folder now
	TimedOut bool
	LostDir  string // the session's previous folder, if it was deleted; the command ran in the initial folder

	TooLarge []string // names of variables not carried over: they would prevent the start of programs
}

// stateLimit bounds the stored state of a command.
const stateLimit = 4 << 20

// mostProcesses is far more than any build has at once, and far less than brings a
// machine down.
const mostProcesses = 4096

// timeoutGrace is the time between SIGTERM and SIGKILL when a command's time is up.
const timeoutGrace = 5 * time.Second

// dumbTerminal is the terminal type of programs without a terminal.
const dumbTerminal = "TERM=dumb"

// terminalType is the terminal type of programs with their own terminal.
const terminalType = "TERM=xterm-256color"

// New returns the shell state of a session in dir. Its environment is the server's without
// variables with names of secrets, unless passthrough names them.
func New(dir string, passthrough []string) *Shell {
	env, _ := proc.Environ(passthrough)
	env = override(userpath.WithToolFolders(proc.Unattended(env, passthrough)), []string{dumbTerminal}) // a command may export other values
	return &Shell{program: findShell("", dir), first: dir, began: env, state: shellState{dir: dir, env: env}}
}

// Name is the shell's, such as "bash".
func (s *Shell) Name() string {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return filepath.Base(s.program)
}

// Use has another shell run the commands, by its name or path. Call it before the
// first.
func (s *Shell) Use(program string) { s.program = findShell(program, s.first) }

func (s *Shell) timeout() time.Duration {
	if s.Timeout > 0 {
		return min(s.Timeout, terminalMaxTimeout)
	}
	return terminalTimeout
}

// Cwd is the session's folder.
func (s *Shell) Cwd() string { return s.snapshot().dir }

// pathFrom returns the origin of PATH.
func (s *Shell) pathFrom() string {
	if s.PathFrom == nil || s.isRemote() {
		return userpath.FromServer
	}
	return s.PathFrom()
}

// Env returns the exported environment for the next command.
func (s *Shell) Env() []string { return s.snapshot().env }

// begin sets PATH for the first command. It can wait for the user's login shell.
func (s *Shell) begin(ctx context.Context) {
	s.stateMu.Lock()
	wanted := s.Path != nil && !s.hasPath && s.on == nil && s.broken == nil
	s.stateMu.Unlock()
	if !wanted {
		return
	}
	path, ok := s.Path(ctx)
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	if ok && !s.hasPath {
		s.hasPath = true
		if path == "" {
			return
		}
		s.began, s.state.env = userpath.With(s.began, path), userpath.With(s.state.env, path)
	}
}

func (s *Shell) snapshot() shellState {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return s.state
}

// Export sets variables of the next commands, such as "NAME=value".
func (s *Shell) Export(vars []string) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.state.env = override(s.state.env, vars)
}

// Run runs a command and waits for all its processes. If ctx ended first, it returns ctx.Err(),
// with a valid outcome. Otherwise an error explains why the command could not run.
func (s *Shell) Run(ctx context.Context, c Command) (Outcome, error) {
	s.begin(ctx)
	before := s.snapshot()
	if c.from != nil {
		before = *c.from
	}
	if s.on != nil || s.broken != nil {
		return s.runRemote(ctx, c, before)
	}
	lost := s.leaveMissingDir(&before)
	start, held := c.start, c.start == nil && c.box.Holds(ctx)
	if start == nil {
		start = runLimited
	}
	child := c.process(before)
	var dump dump
	stores := !s.keepsState(c, before)
	if stores {
		var err error
		if dump, err = newDump(ctx, c.box, held); err != nil {
			return Outcome{Cwd: before.dir}, err
		}
		defer dump.remove()
		child.Args = s.args(c.Text, dump.path)
		dump.passTo(&child)
	} else {
		child.Args = s.unstoredArgs(c.Text)
	}
	if err := c.box.Confine(ctx, &child); err != nil {
		return Outcome{Cwd: before.dir}, err
	}
	ended := c.running(ctx)
	exit, timedOut, err := start(ctx, child, c.Timeout)
	ended()
	var tooLarge []string
	if err == nil && !timedOut && stores {
		if after, ok := s.readState(dump, before.env); ok {
			if c.pty {
				after.restore("TERM", before)
			}
			if c.path != nil {
				after.env = override(after.env, []string{"PATH=" + *c.path})
			}
			after.env, tooLarge = withoutTooLarge(after.env, environLimit)
			s.setState(after, c.Dir == "")
		}
	}
	return Outcome{Exit: exit, Cwd: s.Cwd(), TimedOut: timedOut, LostDir: lost, TooLarge: tooLarge}, err
}

// process returns the child process for c, without its arguments.
func (c Command) process(state shellState) proc.Cmd {
	child := proc.Cmd{
		Dir:    cmp.Or(c.Dir, state.dir),
		Env:    state.env,
		Stdin:  c.input,
		Stdout: c.Output,
		Stderr: c.Output,
		Limits: proc.Limits{Processes: mostProcesses},

		Together: true,
	}
	if c.pty {
		child.PTY, child.Env = &proc.WindowSize{Rows: 50, Cols: 160}, override(state.env, []string{terminalType})
		if c.input == nil { // there is no input: a read returns its end
			child.Stdin = strings.NewReader(string(rune(endOfInput)))
		}
	}
	return child
}

// child returns the process of a command whose state is not kept.
func (s *Shell) child(ctx context.Context, c Command) (proc.Cmd, error) {
	s.begin(ctx)
	state := s.snapshot()
	if c.from != nil {
		state = *c.from
	}
	if s.on != nil || s.broken != nil {
		if err := s.openBackend(ctx); err != nil {
			return proc.Cmd{}, err
		}
		return s.process(c, state, []string{"-c", c.Text}), nil
	}
	s.leaveMissingDir(&state)
	child := c.process(state)
	child.Args = s.plainArgs(c.Text)
	return child, c.box.Confine(ctx, &child)
}

// leaveMissingDir returns to the initial folder if the session's was deleted, and returns the
// deleted folder.
func (s *Shell) leaveMissingDir(state *shellState) (lost string) {
	if info, err := os.Stat(state.dir); err == nil && info.IsDir() {
		return ""
	}
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	lost = state.dir
	if s.state.dir == lost {
		s.state.dir = s.first
	}
	state.dir = s.first
	return lost
}

func (s *Shell) setState(after shellState, dirToo bool) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	if !dirToo || after.dir == "" {
		after.dir = s.state.dir
	}
	s.state = after
}

// Limits for a variable, and for all together, to be carried over. Linux starts no program with a
// longer variable, and other systems with little more than all.
const (
	variableLimit = 128<<10 - 1
	environLimit  = 768 << 10
	remoteLimit   = 64 << 10 // on a backend, where all of it is one word of a command
)

// withoutTooLarge removes the variables that would prevent the start of programs, the longest
// first. It returns the rest and the removed names.
func withoutTooLarge(env []string, limit int) (kept, tooLarge []string) {
	total := 0
	for _, kv := range env {
		total += len(kv) + 1
	}
	longest := slices.SortedFunc(slices.Values(env), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, kv := range longest {
		if len(kv) < variableLimit && total <= limit {
			break
		}
		total -= len(kv) + 1
		name, _, _ := strings.Cut(kv, "=")
		tooLarge = append(tooLarge, name)
		env = without(env, name)
	}
	return env, tooLarge
}

// runLimited is the usual starter.
func runLimited(ctx context.Context, c proc.Cmd, limit time.Duration) (exit proc.Exit, timedOut bool, err error) {
	p, err := proc.Start(ctx, c)
	if err != nil {
		return proc.Exit{}, false, err
	}
	var expired atomic.Bool
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { expired.Store(true); p.Stop(timeoutGrace) })
		defer timer.Stop()
	}
	exit, err = p.Wait()
	return exit, expired.Load(), err
}

// readState returns the state stored by a command. If it is incomplete, ok is false.
func (s *Shell) readState(d dump, before []string) (after shellState, ok bool) {
	parse := s.dialect().read
	if parse == nil {
		return shellState{}, false
	}
	text, err := d.read()
	if err != nil {
		return shellState{}, false
	}
	s.stateMu.Lock()
	last := s.last
	s.stateMu.Unlock()
	if len(text) > 0 && bytes.Equal(text, last.text) && slices.Equal(before, last.before) {
		return shellState{last.after.dir, slices.Clone(last.after.env)}, true
	}
	if after, ok = parse(text, before); ok {
		s.stateMu.Lock()
		s.last = leftState{text, slices.Clone(before), shellState{after.dir, slices.Clone(after.env)}}
		s.stateMu.Unlock()
	}
	return after, ok
}

// dump is the file in which a command stores its state: private, since exports may be secret. It is
// opened before the command starts, so a file put in its place is never opened.
type dump struct {
	dir  *scratch.Dir // nil: the file is in none
	path string       // for the command
	file *os.File
	lent bool // the command has it open
}

// newDump creates a dump: in memory for a held command (see [proc.Cmd.Held]), if the system can,
// else in a separate directory that no other command reaches.
func newDump(ctx context.Context, box *sandbox.Box, held bool) (d dump, err error) {
	if held {
		if d.file, err = proc.MemoryFile("shell's state"); err == nil {
			d.path, d.lent = fmt.Sprintf("/proc/self/fd/%d", proc.LeftFD), true
			return d, nil
		}
	}
	private := sandbox.Private{Box: box, Kind: "shell"}
	if d.dir, err = private.Make(ctx); err != nil {
		return dump{}, fmt.Errorf("making a folder for the shell's state: %w", err)
	}
	d.path = d.dir.Path("state")
	if d.file, err = os.OpenFile(d.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		d.dir.Remove()
		return dump{}, fmt.Errorf("making a file for the shell's state: %w", err)
	}
	return d, nil
}

// passTo gives the file to a command.
func (d dump) passTo(c *proc.Cmd) {
	if d.lent {
		c.Left = d.file
	} else {
		c.Scratch = d.dir.Path()
	}
}

func (d dump) remove() {
	d.file.Close() // nothing was written by us
	if d.dir != nil {
		d.dir.Remove()
	}
}

// read returns the stored text.
func (d dump) read() ([]byte, error) {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil { // a command with the file open may have moved the offset
		return nil, err
	}
	return safefile.ReadAll(d.file, 0, stateLimit)
}

// override replaces settings of the same name.
func override(env, settings []string) []string {
	out := make([]string, 0, len(env)+len(settings))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if !setsName(settings, name) {
			out = append(out, kv)
		}
	}
	return append(out, settings...)
}

func setsName(settings []string, name string) bool {
	for _, s := range settings {
		if n, _, _ := strings.Cut(s, "="); n == name {
			return true
		}
	}
	return false
}

// restore resets a variable to its previous value.
func (s *shellState) restore(name string, before shellState) {
	set := []string{}
	for _, kv := range before.env {
		if n, _, _ := strings.Cut(kv, "="); n == name {
			set = []string{kv}
		}
	}
	s.env = append(without(s.env, name), set...)
}

func without(env []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool { n, _, _ := strings.Cut(kv, "="); return n == name })
}

// exports is the environment by name.
func (s shellState) exports() map[string]string {
	byName := make(map[string]string, len(s.env))
	for _, kv := range s.env {
		name, value, _ := strings.Cut(kv, "=")
		byName[name] = value
	}
	return byName
}

// Clone returns a separate shell, such as a subagent's. It starts in dir with the current
// environment of s. Its later changes do not affect s.
func (s *Shell) Clone(dir string) *Shell {
	if s.isRemote() {
		dir = s.first
	}
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return &Shell{
		Timeout: s.Timeout, Path: s.Path, PathFrom: s.PathFrom, hasPath: s.hasPath, program: s.program, first: dir, began: s.began, state: shellState{dir: dir, env: s.state.env},
		on: s.on, broken: s.broken, home: s.home,
	}
}
