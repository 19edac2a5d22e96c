// Package proc is the only way to start a process.
//
// Each child runs under a supervisor, this binary in a hidden mode, which owns all descendants.
// When the call is canceled, its time is up, or the server dies, kill -9 included, the whole tree
// ends. Background processes of a child end with the call as well. Output goes to writers. If a
// stray grandchild holds a pipe open, the call does not wait for it.
//
// The first call of main, and of each TestMain with child processes, must be Main of package
// supervisor. On Windows there is no supervisor: a job object ends the tree.
//
// All functions and types are safe for concurrent use.
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
	Env  []string // whole environment, "NAME=value"; nil: empty
	// Stdin is copied to the child; nil: nothing to read. When the child has ended and Stdin is an
	// [io.Closer], it is closed to end a waiting Read. [Process.Wait] waits for the Read.
	Stdin  io.Reader
	Stdout io.Writer // nil: thrown away; the same as Stderr keeps the order of both
	Stderr io.Writer
	// PTY gives the child a terminal of this size as stdin, stdout and stderr. Its output goes to
	// Stdout. Nil: pipes. Not on Windows.
	PTY *WindowSize
	// Runs are files in Args run by the program, as absolute paths, such as an interpreter's
	// script. The user has configured them, so a sandbox shows them like the program.
	Runs []string
	// Scratch is a folder of this call's alone. The caller removes it; when the
	// caller is killed first, the supervisor does (Linux and macOS).
	Scratch string
	// Shown is a caller's folder for a held child to read. If the caller is killed, the holder
	// removes it.
	Shown string
	// Trusted lets a child of root keep the capabilities for reading other processes, ours among
	// them. It is for programs chosen by the user, such as podman, never for commands of a model.
	Trusted bool
	// Limits bound the child and its descendants together.
	Limits Limits
	// Confine bounds what they reach; nil: nothing does. See package sandbox.
	Confine *confine.Plan
	// Together lets the child share its namespaces with other commands of its session: they see
	// each other's processes. It is for commands of the model. A program with secrets may use it
	// only if no other runs with its plan at the same time.
	Together bool
	// Holders keeps namespaces and mounts between commands with Together; nil: they are made for
	// this command alone. See [Cmd.Held].
	Holders *Holders
	// Spare keeps a supervisor waiting for a child; nil: the child gets a new supervisor.
	Spare *Spare
	// Left is a held child's file for its last output, open as descriptor [LeftFD].
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
	Code   int    // exit code; 128+signal if a signal ended it, as in a shell
	Signal string // "SIGKILL", …; empty after a normal exit
	Limit  string // the exceeded limit for which all processes were ended: LimitMemory, LimitProcesses, or empty
}

// StartError explains why a program did not start. It wraps the system's error: [fs.ErrNotExist]
// for a missing program, [fs.ErrPermission] for a program that may not run.
type StartError struct {
	Program string
	Reason  string // a sentence fragment for people, such as "not found in PATH"
	Err     error
}

func (e *StartError) Error() string { return fmt.Sprintf("cannot start %s: %s", e.Program, e.Reason) }
func (e *StartError) Unwrap() error { return e.Err }

// quiet is the silence after which an open pipe is given up.
const quiet = 100 * time.Millisecond

// Run starts a child and waits for it. If ctx ends first, the child and its descendants are ended,
// and Run returns how the child ended together with ctx.Err().
func Run(ctx context.Context, c Cmd) (Exit, error) {
	p, err := Start(ctx, c)
	if err != nil {
		return Exit{}, err
	}
	return p.Wait()
}
