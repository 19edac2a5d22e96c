// Package proc is the only way to start a process.
//
// Each child runs under a supervisor, this binary in a hidden mode, that owns
// everything below it: when the call is cancelled, when its time is up, or when
// the server dies, kill -9 included, the whole tree ends with it. Background
// processes of a child end with the call as well. Output goes to writers; a
// pipe that a stray grandchild holds open never keeps a call waiting.
//
// The first call of main, and of each TestMain that starts processes, must be Main of package
// supervisor. On Windows there is no supervisor: a job object ends the tree.
//
// Everything here is safe for concurrent use.
package proc

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// Cmd describes a child process. Args is required, the rest optional.
type Cmd struct {
	Args []string // program and arguments; the program is looked up in PATH of Env
	Dir  string   // working directory, absolute
	Env  []string // whole environment, "NAME=value"; nil is an empty one
	// Stdin is copied to the child; nil: nothing to read. When the child has ended
	// and Stdin is an [io.Closer], it is closed, so that a Read that waits returns;
	// [Process.Wait] waits for that.
	Stdin  io.Reader
	Stdout io.Writer // nil: thrown away; the same as Stderr keeps the order of both
	Stderr io.Writer
	// PTY gives the child a terminal of this size: it is stdin, stdout and stderr in
	// one, and Stdout takes what comes from it. Nil: pipes. Not on Windows.
	PTY *WindowSize
	// Runs are files in Args that the program runs, by absolute path, such as the script of an
	// interpreter. The user has configured them, so a sandbox shows them as it shows the program.
	Runs []string
	// Scratch is a folder of this call's alone. The caller removes it; when the
	// caller is killed first, the supervisor does (Linux and macOS).
	Scratch string
	// Shown is a folder of the caller's that a held child reads. If the caller is killed, the
	// holder removes it.
	Shown string
	// Trusted lets a child of root keep the capabilities that read other processes, ours among
	// them: for programs that the user has chosen, such as podman, never for commands of a
	// model.
	Trusted bool
	// Limits bound the child and everything below it together.
	Limits Limits
	// Confine bounds what they reach; nil: nothing does. See package sandbox.
	Confine *confine.Plan
	// Together lets the child share its namespaces with other commands of its session: they
	// see each other's processes. It is for commands of the model. A program that has secrets of
	// its own may run so only if no other one runs with its plan at the same time.
	Together bool
	// Holders keeps namespaces and mounts between commands that are together; nil: they are
	// made for this one alone. See [Cmd.Held].
	Holders *Holders
	// Spare has a supervisor that waits for a child; nil: the child gets a new one.
	Spare *Spare
	// Left is a file that a held child has open as descriptor [LeftFD], for its last output.
	Left *os.File
	// Grace is how long a child has between SIGTERM and SIGKILL when ctx ends.
	// Zero is 200 ms.
	Grace time.Duration
}

// LeftFD is the descriptor under which a child finds [Cmd.Left].
const LeftFD = spec.LeftFD

// Limits bound a child and all its descendants. Zero is no limit.
type Limits = spec.Limits

// Values of [Exit.Limit].
const (
	LimitMemory    = spec.LimitMemory
	LimitProcesses = spec.LimitProcesses
)

// WindowSize of a terminal, in characters.
type WindowSize struct{ Rows, Cols uint16 }

// Exit is how a child ended.
type Exit struct {
	Code   int    // exit code; 128+signal when a signal ended it, as a shell says it
	Signal string // "SIGKILL", …; empty after a normal exit
	Limit  string // the limit because of which everything was ended: LimitMemory, LimitProcesses, or empty
}

// StartError says why a program did not start. It wraps the system's error: a
// program that is not there is [fs.ErrNotExist], one that may not run
// [fs.ErrPermission].
type StartError struct {
	Program string
	Reason  string // a sentence fragment for people, such as "not found in PATH"
	Err     error
}

func (e *StartError) Error() string { return fmt.Sprintf("cannot start %s: %s", e.Program, e.Reason) }
func (e *StartError) Unwrap() error { return e.Err }

// quiet is the silence after which a pipe that is held open is let go.
const quiet = 100 * time.Millisecond

// Run starts a child and waits for it. When ctx ends first, everything below is
// ended, and Run returns how the child ended together with ctx.Err().
func Run(ctx context.Context, c Cmd) (Exit, error) {
	p, err := Start(ctx, c)
	if err != nil {
		return Exit{}, err
	}
	return p.Wait()
}
