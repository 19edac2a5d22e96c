// Package proc is the only way to start a process.
//
// Each child runs under a supervisor, this binary in a hidden mode, that owns
// everything below it: when the call is cancelled, when its time is up, or when
// the server dies, kill -9 included, the whole tree ends with it. Output goes to
// writers; a pipe that a stray grandchild holds open never keeps a call waiting.
package proc

import (
	"context"
	"io"
	"time"
)

// Cmd describes a child process. Args is required, the rest optional.
type Cmd struct {
	Args   []string  // program and arguments; the program is looked up in PATH of Env
	Dir    string    // working directory, absolute
	Env    []string  // whole environment, "NAME=value"; nil is an empty one
	Stdin  io.Reader // nil: nothing to read
	Stdout io.Writer // nil: thrown away; the same as Stderr keeps the order of both
	Stderr io.Writer
	// Grace is how long a child has between SIGTERM and SIGKILL when ctx ends.
	// Zero is 200 ms.
	Grace time.Duration
}

// Exit is how a child ended.
type Exit struct {
	Code   int    // exit code; 128+signal when a signal ended it, as a shell says it
	Signal string // "SIGKILL", …; empty after a normal exit
}
