package codeexec

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed execute_code.md
var words string

const windowsText = "execute_code is not available on Windows. Use normal tool calls instead."

// Config bounds the scripts of a session. A limit of zero is the contract's default.
type Config struct {
	Mode        string        // "project" or "strict"; empty: project
	Timeout     time.Duration // of a script; 0: 300 s
	MaxCalls    int           // tool calls of a script; 0: 50
	MaxStdout   int           // bytes of output that the model sees; 0: 50,000
	MaxStderr   int           // bytes of error output; 0: 10,000
	MaxMemoryMB int           // 0: 2048
	MaxProcs    int           // processes of a script; 0: 256
	Python      string        // the interpreter that somebody chose; empty: found
	Persist     bool          // variables stay between the scripts of a session
	Passthrough []string      // variables that a script sees although no list has them
	Environ     []string      // the server's environment; nil: the process's
	Pythons     *Pythons      // shared by sessions; nil: one of our own
	GOOS        string        // for tests; empty: runtime.GOOS
}

// Runner runs the scripts of one session. It is safe for concurrent use.
type Runner struct {
	cfg      Config
	ctx      context.Context // ends with the session
	cancel   context.CancelFunc
	sweeping sync.WaitGroup
	kernel   *kernelSlot
	grace    time.Duration // between SIGTERM and SIGKILL when a script's time is up

	allowedMu sync.Mutex
	allowed   map[string]bool // interpreters of the workspace that the user has approved

	// after calls over when a script's time is up, unless its timer is stopped before
	after func(limit time.Duration, over func()) *time.Timer
}

// New makes a runner, which has to be closed. It begins to remove what dead servers
// have left, and does nothing else yet.
func New(c Config) *Runner {
	c.Mode = orString(c.Mode, "project")
	c.GOOS = orString(c.GOOS, runtime.GOOS)
	c.MaxCalls = orInt(c.MaxCalls, 50)
	c.MaxStdout = orInt(c.MaxStdout, 50_000)
	c.MaxStderr = orInt(c.MaxStderr, 10_000)
	c.MaxMemoryMB = orInt(c.MaxMemoryMB, 2048)
	c.MaxProcs = orInt(c.MaxProcs, 256)
	if c.Timeout <= 0 {
		c.Timeout = 300 * time.Second
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Pythons == nil {
		c.Pythons = NewPythons()
	}
	r := &Runner{cfg: c, kernel: newKernelSlot(kernelIdle), grace: timeoutGrace, after: time.AfterFunc}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.sweeping.Go(scratch.Sweep)
	return r
}

// Close ends what is still there: the kernel of a persistent session.
func (r *Runner) Close() {
	r.cancel()
	r.kernel.close()
	r.sweeping.Wait()
}

// input is what the model gives. Command is a classic mistake.
type input struct {
	Code    string `json:"code" jsonschema:"Python source"`
	Command string `json:"command,omitempty" offer:"no"`
	Reset   bool   `json:"reset,omitempty" offer:"no"`
}

type persistentInput struct {
	Code    string `json:"code" jsonschema:"Python source"`
	Command string `json:"command,omitempty" offer:"no"`
	Reset   bool   `json:"reset,omitempty" jsonschema:"forget all variables first"`
}

// Tool is execute_code for the session.
func (r *Runner) Tool() tools.Tool {
	t := tools.Tool{
		Name: "execute_code", Toolset: "code_execution", Kind: tools.KindExecute,
		Description: r.describe(),
		ResultCap:   8*(r.cfg.MaxStdout+r.cfg.MaxStderr) + 16<<10, // bytes: what is cut is cut already
		Available:   r.available,
	}
	if r.cfg.Persist {
		return tools.New(t, func(ctx context.Context, env *tools.Env, call tools.Call, in persistentInput) (tools.Result, error) {
			return r.execute(ctx, env, call, input(in))
		})
	}
	return tools.New(t, r.execute)
}

// available is asked at the beginning of a session, so it only looks.
func (r *Runner) available(context.Context) error {
	if r.cfg.GOOS == "windows" {
		return errors.New("there is no execute_code on Windows")
	}
	if !(Search{Configured: r.cfg.Python, Environ: r.cfg.Environ, Strict: r.strict()}).Likely() {
		return errors.New("there is no Python")
	}
	return nil
}

func (r *Runner) strict() bool { return r.cfg.Mode == "strict" }

func (r *Runner) describe() string {
	place := "It runs in the workspace's first folder, with the workspace's own Python packages."
	if r.strict() {
		place = "It runs in a folder of its own; reach the workspace through the functions."
	}
	state := "Each script starts fresh."
	if r.cfg.Persist {
		state = "Variables and imports stay for the next script, until reset=true."
	}
	limits := fmt.Sprintf("%v seconds, %d tool calls, %s of output, %s of errors, %d MB of memory, no stdin",
		r.cfg.Timeout.Seconds(), r.cfg.MaxCalls, kilobytes(r.cfg.MaxStdout), kilobytes(r.cfg.MaxStderr), r.cfg.MaxMemoryMB)
	return strings.TrimSpace(strings.NewReplacer("USAGES", usages(), "PLACE", place+" "+state, "LIMITS", limits).Replace(words))
}

func orString(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func orInt(n, other int) int {
	if n <= 0 {
		return other
	}
	return n
}
