package backend

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// label marks our containers, to recognize the containers of dead servers.
const label = "org.hermes-ls.session"

// container is a container for a session, by docker or podman. The workspace folders are mounted
// under their own paths.
type container struct {
	Config
	name string

	openMu  chan struct{} // capacity 1; held by the starting call
	mu      sync.Mutex
	program string
	main    *proc.Process // nil: it does not run
	place   Place
	closed  bool
	ctx     context.Context
	cancel  context.CancelFunc
}

func newContainer(c Config) (Backend, error) {
	if c.Image == "" || c.Image[0] == '-' || strings.ContainsAny(c.Image, " \t\n\x00") {
		return nil, fmt.Errorf("terminal.docker_image %q is no image: name one that has a shell, such as debian:stable", c.Image)
	}
	b := &container{Config: c, name: "hermes-ls-" + uuid.NewString(), openMu: make(chan struct{}, 1)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b, nil
}

func (c *container) Shared() bool { return true }

func (c *container) Args(argv []string, dir string, tty bool) []string {
	args := []string{c.program, "exec", "-i"}
	if tty {
		args = append(args, "-t")
	}
	return append(append(args, "-w", cmp.Or(dir, "/"), c.name), argv...)
}

// Open starts the container.
func (c *container) Open(ctx context.Context) (Place, error) {
	select {
	case c.openMu <- struct{}{}:
		defer func() { <-c.openMu }()
	case <-ctx.Done():
		return Place{}, ctx.Err()
	}
	c.mu.Lock()
	place, closed, alive := c.place, c.closed, c.main != nil && !ended(c.main)
	c.mu.Unlock()
	switch {
	case closed:
		return Place{}, errGone
	case alive:
		return place, nil
	}
	program, err := c.engine(ctx)
	if err != nil {
		return Place{}, err
	}
	c.program = program
	c.sweep(ctx)
	if place, err = c.start(ctx); err != nil {
		return Place{}, fmt.Errorf("starting a container of %s by %s: %w", c.Image, filepath.Base(program), err)
	}
	return place, nil
}

// engine finds a program that responds: a docker client without its service does not count.
func (c *container) engine(ctx context.Context) (string, error) {
	names := []string{"docker", "podman"}
	if c.Program != "" {
		names = []string{c.Program}
	}
	var wrong []string
	for _, name := range names {
		path, err := find(c.Folders, name)
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		var errs strings.Builder
		exit, err := proc.Run(ctx, proc.Cmd{Args: []string{path, "ps", "-q"}, Env: environ(c.Folders), Dir: "/", Stderr: &errs, Trusted: true})
		if err == nil && exit.Code == 0 {
			return path, nil
		}
		wrong = append(wrong, name+" does not answer: "+failureText(errs.String(), exit))
	}
	return "", fmt.Errorf("terminal.backend: docker needs docker or podman (on Debian: apt install podman): %s", strings.Join(wrong, "; "))
}

// sweep removes containers whose server was killed: they have stopped, but are still listed.
func (c *container) sweep(ctx context.Context) {
	proc.Run(ctx, proc.Cmd{ // the next call tries again
		Args: []string{c.program, "container", "prune", "-f", "--filter", "label=" + label}, Env: environ(c.Folders), Dir: "/", Trusted: true,
	})
}

// keeper is the container's first process. It ends with its input, so with us.
const keeper = `trap 'exit 0' TERM INT; exec 3<&0; cat <&3 >/dev/null & wait $!`

func (c *container) start(ctx context.Context) (Place, error) {
	args := []string{c.program, "run", "--rm", "-i", "--name", c.name, "--label", label, "--security-opt", "no-new-privileges"}
	if !c.Network {
		args = append(args, "--network", "none")
	}
	if os.Geteuid() > 0 {
		if filepath.Base(c.program) == "podman" {
			args = append(args, "--userns", "keep-id")
		}
		args = append(args, "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()))
	}
	for _, f := range c.Folders {
		if strings.ContainsAny(f, ":,") {
			return Place{}, fmt.Errorf("the folder %s has a : or a comma in its name, so it cannot be shared with a container", f)
		}
		args = append(args, "-v", f+":"+f)
	}
	args = append(args, "--entrypoint", "sh", c.Image, "-c", "echo ready; "+keeper)
	errs, ready := &outputTail{}, &writeSignal{written: make(chan struct{})}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return Place{}, errGone
	}
	main, err := proc.Start(c.ctx, proc.Cmd{
		Args: args, Env: environ(c.Folders), Dir: "/", Stdin: newSilence(), Stdout: ready, Stderr: errs, Trusted: true, Grace: 3 * masterEnds,
	})
	c.main = main
	c.mu.Unlock()
	if err != nil {
		return Place{}, err
	}
	select {
	case <-ready.written:
	case <-main.Done():
		main.Wait() // its output reports the error
		return Place{}, fmt.Errorf("%s", cmp.Or(errs.text(), "it ended at once"))
	case <-ctx.Done():
		main.Stop(0)
		return Place{}, fmt.Errorf("it took too long: %s", errs.text())
	}
	place, err := probePlace(ctx, c.Args([]string{"sh", "-c", probe}, "/", false), environ(c.Folders))
	if err != nil {
		return Place{}, err
	}
	if place.Dir = c.Cwd; place.Dir == "" && len(c.Folders) > 0 {
		place.Dir = c.Folders[0]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.place = place
	return place, nil
}

// writeSignal signals the first write.
type writeSignal struct {
	once    sync.Once
	written chan struct{}
}

func (s *writeSignal) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.written) })
	return len(b), nil
}

// Close ends the container and all processes in it.
func (c *container) Close() {
	c.mu.Lock()
	c.closed = true
	main := c.main
	c.mu.Unlock()
	c.cancel()
	if main != nil {
		main.Wait() // it was ended
	}
}
