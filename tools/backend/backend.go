// Package backend runs a session's commands on another machine over ssh, or in a container
// that shares the workspace.
//
// A program of the user (ssh, docker, podman, apptainer) connects to a [Backend]. [Backend.Args]
// starts it as a child process. Its input and output are the command's. If its input ends, for
// example because the server dies, the remote command ends too. All methods are safe for concurrent
// use.
package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
)

// Backend is a place for commands.
type Backend interface {
	// Open connects on first use and after a lost connection. Its error is for users: it names the
	// missing program and how to install it. Close ends everything started by Open.
	Open(ctx context.Context) (Place, error)
	// Args returns the local program that runs argv there, in the folder dir, with or without a
	// terminal. Open must come before.
	Args(argv []string, dir string, tty bool) []string
	// Shared reports whether the backend shares the local workspace: same files, same paths.
	Shared() bool
	Close()
}

// Place describes an open backend.
type Place struct {
	Shell string // "bash", or "sh"
	Home  string
	Dir   string // where a session begins
}

// Config is the user's choice of a backend, never a repository's.
type Config struct {
	Kind string // ssh, docker (which podman is, too) or singularity
	// Cwd is where a session begins; empty: in the home folder over ssh, else in the
	// workspace.
	Cwd     string
	Folders []string // the workspace's, shared with a container
	Network bool     // of a container
	SSH     SSHConfig
	Image   string // of a container
	Program string // docker, podman, apptainer or singularity; empty: which there is
}

// New makes a backend. Nothing is started yet.
func New(c Config) (Backend, error) {
	switch c.Kind {
	case "ssh":
		return newSSH(c)
	case "docker", "podman":
		return newContainer(c)
	case "singularity", "apptainer":
		return newSingularity(c)
	}
	return nil, fmt.Errorf("terminal.backend %q is not known; there are local, ssh, docker and singularity", c.Kind)
}

// supervise runs "$@" on the backend, in its own process group, until its input ends because the
// client has ended. Then it ends the group. If "$0" is keys, the command reads the input.
const supervise = `
if command -v setsid >/dev/null 2>&1; then own=setsid; else own=; set -m; fi
exec 3<&0
if [ "$0" = keys ]; then
	fifo=$(mktemp -u "${TMPDIR:-/tmp}/hermes-XXXXXX") && mkfifo -m 600 "$fifo" || exit 126
	$own "$@" <"$fifo" 3<&- & child=$!
	exec 4>"$fifo"; rm -f "$fifo"
	(cat <&3 >&4 2>/dev/null; exec 4>&-; sleep 1; kill -TERM -$child || kill -TERM $child; sleep 1; kill -KILL -$child) >/dev/null 2>&1 & watch=$!
	exec 4>&-
else
	$own "$@" </dev/null 3<&- & child=$!
	(cat <&3 >/dev/null; kill -TERM -$child || kill -TERM $child; sleep 1; kill -KILL -$child) >/dev/null 2>&1 & watch=$!
fi
exec 3<&-
wait $child; code=$?
kill -TERM -$child 2>/dev/null
kill $watch 2>/dev/null
exit $code`

// Supervised returns argv for a command that ends with its input. If keys is set, the command reads
// the input.
func Supervised(argv []string, keys bool) []string {
	name := "nothing"
	if keys {
		name = "keys"
	}
	return append([]string{"sh", "-c", supervise, name}, argv...)
}

// probe prints the shell and the home directory of a place.
const probe = `command -v bash >/dev/null 2>&1 && echo bash || echo sh; cd; pwd -P`

// probePlace runs probe, by a program whose environment is env.
func probePlace(ctx context.Context, args, env []string) (Place, error) {
	var out, errs strings.Builder
	exit, err := proc.Run(ctx, proc.Cmd{Args: args, Env: env, Stdout: &out, Stderr: &errs, Dir: "/", Trusted: true})
	if err != nil {
		return Place{}, err
	}
	lines := strings.Split(out.String(), "\n")
	if exit.Code != 0 || len(lines) < 3 || !path.IsAbs(lines[1]) {
		return Place{}, fmt.Errorf("%s", failureText(errs.String(), exit))
	}
	return Place{Shell: lines[0], Home: lines[1]}, nil
}

// failureText returns the error text of a failed program.
func failureText(errs string, exit proc.Exit) string {
	if text := strings.TrimSpace(errs); text != "" {
		return text
	}
	return "exit code " + strconv.Itoa(exit.Code)
}

// environ returns the environment of a program that connects to a backend. It contains more
// variables than a command's, such as the SSH agent's.
func environ(folders []string) []string {
	env, _ := proc.Environ([]string{"SSH_AUTH_SOCK"})
	return program.Environ(env, folders)
}

// Environ returns the environment of the programs named by Args. These programs start nothing from
// the workspace folders.
func Environ(folders ...string) []string { return environ(folders) }

// find returns the first installed program of names. It ignores programs in the workspace, because
// they run outside of every sandbox. An absolute path is accepted.
func find(folders []string, names ...string) (string, error) {
	for _, n := range names {
		path, err := program.Find(n, folders)
		if filepath.IsAbs(n) {
			path, err = exec.LookPath(n)
		}
		if err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: %w", strings.Join(names, " or "), os.ErrNotExist)
}

// line returns argv as a shell command line.
func line(argv []string) (string, error) {
	quoted := make([]string, len(argv))
	for i, word := range argv {
		if strings.ContainsRune(word, 0) {
			return "", errors.New("a NUL character in a word")
		}
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " "), nil
}

var errGone = errors.New("the session is closed")

// emptyInput is an empty input that ends when closed.
type emptyInput struct{ closed chan struct{} }

func newSilence() emptyInput { return emptyInput{make(chan struct{})} }

func (s emptyInput) Read([]byte) (int, error) {
	<-s.closed
	return 0, os.ErrClosed
}

// Close ends the input. The reading process calls it once.
func (s emptyInput) Close() error {
	close(s.closed)
	return nil
}
