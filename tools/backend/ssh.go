package backend

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// SSHConfig identifies a machine, in OpenSSH's terms.
type SSHConfig struct {
	Host    string // a name of ~/.ssh/config, too
	User    string
	Port    int      // 0: ssh's own choice
	Key     string   // file with a private key; empty: ssh's own choice
	Options []string // further options, as -o takes them
}

const (
	connecting = 30 * time.Second
	masterEnds = 500 * time.Millisecond
)

// overSSH runs commands over a single connection, held by OpenSSH's own master.
type overSSH struct {
	Config
	program string

	openMu chan struct{} // capacity 1; held by the connecting call
	mu     sync.Mutex
	dir    *scratch.Dir
	master *proc.Process // nil: there is no connection
	errs   *outputTail
	place  Place
	closed bool
	ctx    context.Context
	cancel context.CancelFunc
	files  sftpConn
	ending sync.WaitGroup // goroutines that handle the end of processes
}

func newSSH(c Config) (Backend, error) {
	switch {
	case c.SSH.Host == "":
		return nil, fmt.Errorf("terminal.ssh_host is not set: name the machine that commands run on, and terminal.cwd if not in the home folder there")
	case !plainName(c.SSH.Host), c.SSH.User != "" && !plainName(c.SSH.User):
		return nil, fmt.Errorf("terminal.ssh_host %q or ssh_user %q is no name of a machine or user: it may not begin with - nor hold spaces, quotes or control characters", c.SSH.Host, c.SSH.User)
	case c.SSH.Port < 0 || c.SSH.Port > 65535:
		return nil, fmt.Errorf("terminal.ssh_port %d is not between 1 and 65535", c.SSH.Port)
	}
	program, err := find(c.Folders, "ssh")
	if err != nil {
		return nil, fmt.Errorf("%w; terminal.backend: ssh needs OpenSSH's client (on Debian: apt install openssh-client)", err)
	}
	s := &overSSH{Config: c, program: program, openMu: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// plainName reports whether a name is safe: ssh cannot read it as an option or pass it to a shell.
func plainName(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f && r < 0xa1 || strings.ContainsRune("'\"`$\\;&|<>(){}*?!#,=", r)
	})
}

func (s *overSSH) Shared() bool { return false }

// options returns the arguments of every ssh call.
func (s *overSSH) options() []string {
	args := []string{s.program, "-S", s.dir.Path("c"), "-o", "BatchMode=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "PermitLocalCommand=no"}
	if s.SSH.User != "" {
		args = append(args, "-l", s.SSH.User)
	}
	if s.SSH.Port > 0 {
		args = append(args, "-p", strconv.Itoa(s.SSH.Port))
	}
	if s.SSH.Key != "" {
		args = append(args, "-i", s.SSH.Key)
	}
	for _, o := range s.SSH.Options {
		args = append(args, "-o", o)
	}
	return args
}

func (s *overSSH) Args(argv []string, dir string, tty bool) []string {
	args := append(s.options(), "-o", "ControlMaster=no", "-o", "LogLevel=ERROR", "-T")
	if tty {
		args[len(args)-1] = "-tt"
	}
	command, err := line(argv)
	if err != nil {
		command = "echo " + strconv.Quote("hermes-ls: a NUL character in the command") + " >&2; exit 126"
	}
	if dir != "" {
		if at, err := line([]string{dir}); err == nil {
			command = "cd " + at + " && exec " + command
		}
	}
	wrapped, _ := line([]string{"sh", "-c", command}) // the user's shell there may be of any kind
	return append(args, "--", s.SSH.Host, wrapped)
}

// Open connects, unless the connection still exists.
func (s *overSSH) Open(ctx context.Context) (Place, error) {
	select {
	case s.openMu <- struct{}{}:
		defer func() { <-s.openMu }()
	case <-ctx.Done():
		return Place{}, ctx.Err()
	}
	s.mu.Lock()
	place, alive, closed := s.place, s.alive(), s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return Place{}, errGone
	case alive:
		return place, nil
	}
	ctx, stop := context.WithTimeout(ctx, connecting)
	defer stop()
	place, err := s.connect(ctx)
	if err != nil {
		return Place{}, fmt.Errorf("connecting to %s by ssh: %w. Try `ssh %s true` in a terminal: it has to work without a question", s.SSH.Host, err, s.SSH.Host)
	}
	return place, nil
}

// alive reports whether the master runs. Its caller holds mu.
func (s *overSSH) alive() bool { return s.master != nil && !ended(s.master) }

func ended(p *proc.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func (s *overSSH) connect(ctx context.Context) (Place, error) {
	if err := s.startMaster(); err != nil {
		return Place{}, err
	}
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		exit, err := proc.Run(ctx, proc.Cmd{Args: append(s.options(), "-O", "check", "--", s.SSH.Host), Env: environ(s.Folders), Dir: "/"})
		switch {
		case err != nil:
			s.master.Stop(0)
			return Place{}, fmt.Errorf("it took too long: %s", s.errs.text())
		case exit.Code == 0:
			return s.probe(ctx)
		case ended(s.master):
			s.master.Wait() // its output reports the error
			return Place{}, fmt.Errorf("%s", cmp.Or(s.errs.text(), "the connection ended at once"))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// startMaster starts the process that holds the connection.
func (s *overSSH) startMaster() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errGone
	}
	if s.dir == nil {
		if s.dir, err = scratch.New("ssh"); err != nil {
			return err
		}
	}
	s.errs = &outputTail{}
	s.master, err = proc.Start(s.ctx, proc.Cmd{
		Args: append(s.options(), "-M", "-N", "-T", "-o", "ControlPersist=no", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "--", s.SSH.Host),
		Env:  environ(s.Folders), Dir: "/", Stderr: s.errs, Grace: masterEnds,
	})
	return err
}

// probe examines the machine.
func (s *overSSH) probe(ctx context.Context) (Place, error) {
	place, err := probePlace(ctx, s.Args([]string{"sh", "-c", probe}, "", false), environ(s.Folders))
	if err != nil {
		return Place{}, err
	}
	place.Dir = cmp.Or(s.Cwd, place.Home)
	if rest, is := strings.CutPrefix(place.Dir, "~"); is {
		place.Dir = place.Home + rest
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place = place
	return place, nil
}

// Close ends the connection and all processes on it.
func (s *overSSH) Close() {
	s.mu.Lock()
	s.closed = true
	master, dir := s.master, s.dir
	s.mu.Unlock()
	s.cancel()
	if master != nil {
		master.Wait() // it was ended
	}
	s.ending.Wait()
	if dir != nil {
		dir.Remove()
	}
}

// outputTail keeps the last bytes written by a program.
type outputTail struct {
	mu   sync.Mutex
	kept []byte
}

func (l *outputTail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, b...)
	l.kept = l.kept[max(0, len(l.kept)-2000):]
	return len(b), nil
}

func (l *outputTail) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.kept))
}
