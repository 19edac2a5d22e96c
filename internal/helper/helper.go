// Package helper runs a function of this program in a separate process, within limits of time and
// memory. It is for parsers in which a hostile input can use all memory or end the process: then
// only the helper ends.
//
// A package with such a function calls it with [Run]. Its function for main calls [Serve]:
//
//	func ServeHelper() { helper.Serve("__page", child) }
//
// Run is safe for concurrent use.
package helper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// Limits are the limits of a run.
type Limits struct {
	Time   time.Duration
	Memory uint64 // bytes
	Answer int    // bytes; the rest is dropped
}

// The errors of a run.
var (
	ErrTime   = errors.New("the helper process took too long")
	ErrMemory = errors.New("the helper process needed too much memory")
	ErrFailed = errors.New("the helper process failed")
)

const exitMemory = 3

// served holds the words served by main.
var served sync.Map

// Serve runs f and ends the process if this process was started for word, which must begin with __.
// main calls it first, through package modes. Otherwise [Run] returns an error, so a program such
// as a test does not run itself instead of f.
func Serve(word string, f func(in io.Reader, out io.Writer) error) {
	served.Store(word, true)
	if len(os.Args) != 3 || os.Args[1] != word {
		return
	}
	memory, err := strconv.ParseUint(os.Args[2], 10, 63)
	if err != nil {
		os.Exit(2)
	}
	debug.SetMemoryLimit(int64(memory) * 3 / 4)
	debug.SetMaxStack(int(memory / 2))
	go watchMemory(memory) // ends with the process
	if f(os.Stdin, os.Stdout) != nil {
		os.Exit(2)
	}
	os.Exit(0)
}

// Run runs the function for word in another process and returns its output. If a limit was
// exceeded, the error is [ErrTime] or [ErrMemory]; if the function failed, [ErrFailed]. Otherwise
// it returns the error of ctx, or an error if no process could be started.
func Run(ctx context.Context, word string, limits Limits, in io.Reader) ([]byte, error) {
	if _, ok := served.Load(word); !ok {
		return nil, fmt.Errorf("starting a helper process: main does not serve %s", word)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("starting a helper process: %w", err)
	}
	limited, stop := context.WithTimeout(ctx, limits.Time)
	defer stop()
	answer := &proc.Bounded{Limit: limits.Answer}
	exit, err := proc.Run(limited, proc.Cmd{
		Args:  []string{self, word, strconv.FormatUint(limits.Memory, 10)},
		Dir:   os.TempDir(),
		Stdin: in, Stdout: answer,
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, ErrTime
	case err != nil:
		return nil, fmt.Errorf("starting a helper process: %w", err)
	case exit.Code == exitMemory:
		return nil, ErrMemory
	case exit.Code != 0:
		return nil, ErrFailed
	}
	return answer.Bytes(), nil
}

// watchMemory ends a process whose memory exceeds the limit because of its input. No system call
// for this exists on every system. The package runtime/metrics would cost each start of the program
// 0.1 ms.
func watchMemory(limit uint64) {
	var now runtime.MemStats
	for range time.Tick(10 * time.Millisecond) {
		if runtime.ReadMemStats(&now); now.HeapAlloc+now.StackInuse > limit {
			os.Exit(exitMemory)
		}
	}
}
