package codeexec

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed execute_code.md
var words string

const windowsText = "execute_code is not available on Windows. Use normal tool calls instead."

// Config configures the scripts of a session. Zero values mean the defaults.
type Config struct {
	tools.Bounds // where scripts work

	Mode        string          // "project" or "strict"; empty: project
	Timeout     time.Duration   // of a script; 0: 300 s
	MaxCalls    int             // tool calls of a script; 0: 50
	MaxStdout   int             // bytes of output in a result; 0: 50,000
	MaxStderr   int             // bytes of error output in a result; 0: 10,000
	MaxMemoryMB int             // 0: 2048
	MaxProcs    int             // processes of a script; 0: 256
	Python      string          // the configured interpreter; empty: the first found
	Persist     bool            // variables stay for the next script of a session
	Passthrough []string        // names of additional variables visible to scripts
	Environ     []string        // the server's environment; nil: the process's
	Path        userpath.Finder // the PATH of scripts; nil: Environ's PATH
	Pythons     *Pythons        // may be shared by sessions; nil: new
	// MCPTools selects the tools of MCP servers for scripts: all, read_only; else none. MCPTool
	// returns the name of such a tool. Nil: there are none.
	MCPTools string
	MCPTool  func(server, tool string) string
	GOOS     string // for tests; empty: runtime.GOOS
	// Derive returns the extension instances for a script. Nil: scripts get the session's tools.
	Derive func(context.Context) (*extension.Set, error)
}

// Runner runs the scripts of one session. It is safe for concurrent use.
type Runner struct {
	cfg      Config
	ctx      context.Context // ends with the session
	cancel   context.CancelFunc
	sweeping sync.WaitGroup
	kernel   *kernelSlot
	stagings stagings
	grace    time.Duration // between SIGTERM and SIGKILL at a timeout

	used atomic.Bool // a script was run

	passedMu sync.Mutex
	passed   []string // the session's variables for scripts

	allowedMu sync.Mutex
	allowed   map[string]bool // approved interpreters of the workspace

	// after calls over after limit, unless the returned timer is stopped before.
	after func(limit time.Duration, over func()) *time.Timer
}

// New returns a runner. The caller must close it. In the background, New removes the leftovers of
// dead servers.
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

// Close ends a running kernel and waits for it.
func (r *Runner) Close() {
	r.cancel()
	r.kernel.close()
	r.stagings.close()
	r.sweeping.Wait()
}

// input is the input of the tool. Command is a usual mistake of models.
type input struct {
	Code    string `json:"code" jsonschema:"Python source"`
	Command string `json:"command,omitempty" offer:"no"`
	Reset   bool   `json:"reset,omitempty" offer:"no"`
}

type persistentInput struct {
	Code    string `json:"code" jsonschema:"Python source"`
	Command string `json:"command,omitempty" offer:"no"`
	Reset   bool   `json:"reset,omitempty" jsonschema:"true: delete all variables first; default false"`
}

// Preload makes the input schemas of the tool, which stay in memory.
func Preload() {
	tools.Preload[input]()
	tools.Preload[persistentInput]()
}

// Tool returns execute_code for the session.
func (r *Runner) Tool() tools.Tool {
	t := tools.Tool{
		Name: "execute_code", Toolset: Toolset, Plans: true, Order: -50, Replay: tools.ReplayedIf, Kind: tools.KindExecute, TellsRunning: true,
		Describe:  r.describe,
		Advice:    "Run a script (execute_code) for loops and filters over many files or results.",
		ResultCap: 8*(r.cfg.MaxStdout+r.cfg.MaxStderr) + 16<<10, // bytes; the output is cut before
		Available: r.available,
	}
	if r.cfg.Persist {
		return tools.New(t, func(ctx context.Context, env *tools.Env, call tools.Call, in persistentInput) (tools.Result, error) {
			return r.execute(ctx, env, call, input(in))
		})
	}
	return tools.New(t, r.execute)
}

// available returns an error if scripts cannot run here. It starts no process.
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

// describe returns the description, with the functions for the offered tools.
func (r *Runner) describe(offered []tools.Tool) string {
	dir := "It runs in the workspace folder, with the workspace's Python packages."
	if r.strict() {
		dir = "It runs in an empty directory; reach the workspace through the functions."
	}
	state := "Each script starts fresh."
	if r.cfg.Persist {
		state = "Variables and imports stay for the next script, until reset=true."
	}
	limits := fmt.Sprintf("%v seconds, %d tool calls, %s of output, %s of errors, %d MB of memory, no stdin",
		r.cfg.Timeout.Seconds(), r.cfg.MaxCalls, kilobytes(r.cfg.MaxStdout), kilobytes(r.cfg.MaxStderr), r.cfg.MaxMemoryMB)
	functionList := usages(offered)
	if r.callsMCP() {
		functionList += usages([]tools.Tool{mcpFunction()})
	}
	return tools.Describe(words, offered, struct{ Functions, Place, Limits string }{functionList, dir + " " + state, limits})
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
