package codeexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

const (
	timeoutGrace = 5 * time.Second // between SIGTERM and SIGKILL at a timeout
	cancelGrace  = 200 * time.Millisecond
)

// openFiles limits the file descriptors of a script.
const openFiles = 1024

// Texts for interrupted, canceled and timed-out scripts.
const (
	interruptedText = "[execution interrupted — user sent a new message]"
	timeoutText     = "Script timed out after %vs and was killed."
	limitAbuseText  = "The script was ended: it went on calling tools after the limit of %d calls was reached."
)

// outcome is the tool result.
type outcome struct {
	Status     string  `json:"status"` // success, error, timeout or interrupted
	Output     string  `json:"output"`
	Errors     string  `json:"errors,omitempty"`
	ExitCode   int     `json:"exit_code"`
	ToolCalls  int     `json:"tool_calls_made"`
	Duration   float64 `json:"duration_seconds"`
	Python     string  `json:"python,omitempty"`      // the interpreter, if it is not the first choice
	Note       string  `json:"note,omitempty"`        // hints
	FullOutput string  `json:"full_output,omitempty"` // file with the whole output, if it was cut
	FullErrors string  `json:"full_errors,omitempty"`
}

// execute runs the tool.
func (r *Runner) execute(ctx context.Context, env *tools.Env, call tools.Call, in input) (tools.Result, error) {
	if r.cfg.GOOS == "windows" {
		return tools.Fail("%s", windowsText), nil
	}
	r.used.Store(true)
	code, invalid := in.program()
	if invalid != "" {
		return tools.Fail("%s", invalid), nil
	}
	if env.Dispatch.Set == nil || r.cfg.Files == nil {
		return tools.Fail("This session has no tools that a script could call. Use normal tool calls instead."), nil
	}
	if env.Planning && !sandbox.Strict(r.box(env)) {
		return tools.Result{}, tools.Rejected("session has no sandbox that keeps scripts from writing")
	}
	opening, err := r.mayRun(ctx, env, call, code)
	if err != nil {
		return tools.Result{}, err
	}
	python, err := r.cfg.Pythons.Find(ctx, r.search(ctx, env, call))
	if err != nil {
		return tools.Result{}, err
	}
	s := script{call: call, python: python, code: code, opening: opening, session: env.Dispatch.Set}
	derived, err := r.derive(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	defer derived.Close(context.WithoutCancel(ctx)) // instances derived for a script start nothing
	if s.env, err = envOf(ctx, env, derived); err != nil {
		return tools.Result{}, err
	}
	places, err := gate.WatchPlaces(ctx, env, call, r.box(env).With(opening), r.cfg.Secrets.Hide)
	if err != nil {
		return tools.Result{}, err
	}
	var done ending
	if r.cfg.Persist {
		done, err = r.kernel.execute(ctx, r, env, s, in.Reset)
	} else {
		done, err = r.once(ctx, env, s)
	}
	settled := places.Review(ctx, env, call)
	if err != nil {
		return tools.Result{}, err
	}
	done.note = joined(done.note, r.box(env).Explain(done.errs, true), settled)
	if done.interrupted {
		done.note = joined(done.note, tools.StoppedText(ctx)+".")
	}
	return r.result(done, python, code), nil
}

// script is the code of a call.
type script struct {
	call    tools.Call
	python  Python
	code    string
	opening sandbox.Opening // approved for it by the user
	env     *tools.Env      // of its calls
	session *tools.Set      // the tools of the session
}

// program returns the code to run. If the input is invalid, it returns the reason.
func (in input) program() (code, invalid string) {
	code = unfenced(in.Code)
	switch {
	case strings.TrimSpace(code) == "" && in.Command != "":
		return "", "execute_code takes Python source in code, not a command. Run a shell command with terminal, or in a script with `from hermes_tools import terminal`."
	case strings.TrimSpace(code) == "":
		return "", "code is empty: give Python source, such as `from hermes_tools import read_file` and then `print(read_file(\"README.md\")[\"total_lines\"])`."
	case in.Command != "":
		return "", "execute_code takes only code: put everything into it, and leave command out."
	case strings.ContainsRune(code, 0):
		return "", "code holds a NUL character, which Python does not take: leave it out."
	}
	return code, ""
}

// unfenced removes a Markdown fence around the code.
func unfenced(code string) string {
	text := strings.TrimSpace(code)
	if !strings.HasPrefix(text, "```") || !strings.HasSuffix(text, "\n```") {
		return code
	}
	first, rest, _ := strings.Cut(text, "\n")
	switch strings.TrimPrefix(first, "```") {
	case "", "python", "py", "python3":
		return strings.TrimSuffix(rest, "```")
	}
	return code
}

// mayRun asks once about code that looks destructive. The shown code is the executed code: until
// approval it exists only in memory.
func (r *Runner) mayRun(ctx context.Context, env *tools.Env, call tools.Call, code string) (sandbox.Opening, error) {
	folders := r.cfg.Files.Folders()
	place := policy.Scope{
		Cwd: folders[0], Roots: folders, Home: lookup(r.cfg.Environ, "HOME"), HermesHome: r.cfg.HermesHome,
		Temp: r.box(env).OwnTemp(ctx), Importer: gate.Importer(r.box(env), folders),
		Resolve: func(path string) string {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				return real
			}
			return path
		},
	}
	return gate.Approve(ctx, env, r.cfg.Bounds.For(env), call, code, false, place, func(place policy.Scope) policy.Verdict { return policy.Python(code, place) })
}

// environ returns the base environment of scripts. It can wait for the user's login shell.
func (r *Runner) environ(ctx context.Context) []string { return r.cfg.Path.Environ(ctx, r.cfg.Environ) }

func (r *Runner) search(ctx context.Context, env *tools.Env, call tools.Call) Search {
	return Search{
		Configured: r.cfg.Python, Folders: r.cfg.Files.Folders(), Environ: r.environ(ctx), Strict: r.strict(),
		Confine: func(ctx context.Context, c *proc.Cmd) error { return r.confine(ctx, env, c, sandbox.Opening{}) },
		Allow:   func(ctx context.Context, path string) error { return r.allow(ctx, env, call, path) },
	}
}

// ending is how a script ended.
type ending struct {
	exit        proc.Exit
	took        time.Duration
	timedOut    bool
	interrupted bool
	limitAbuse  bool // it was ended because it called on after the limit
	calls       int
	record      []tools.Inner
	changes     []tools.Content
	out, errs   string
	full        string
	fullErrs    string
	note        string
	functions   []tools.Tool
}

// derive returns the extension instances for a script. If the session has no extensions, derive
// returns an empty set.
func (r *Runner) derive(ctx context.Context) (*extension.Set, error) {
	if r.cfg.Derive == nil {
		return &extension.Set{}, nil
	}
	return r.cfg.Derive(ctx)
}

// envOf returns the Env of a script's calls. Its tools are the tools of the derived instances and
// the tools outside extensions. Fields not listed here stay empty.
func envOf(ctx context.Context, env *tools.Env, derived *extension.Set) (*tools.Env, error) {
	list, err := derived.Tools(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("listing the tools of a script: %w", err)
	}
	set, err := env.Dispatch.Set.Replace(list)
	if err != nil {
		return nil, fmt.Errorf("listing the tools of a script: %w", err)
	}
	set.Events = derived.Events()
	return &tools.Env{
		SessionID: env.SessionID, Gate: env.Gate, OutputDir: env.OutputDir, Reader: tools.Reader{Script: true}, Planning: env.Planning,
		Dispatch: tools.Dispatch{Set: set, Offered: env.Dispatch.Offered},
	}, nil
}

// caller returns a function that runs a script's calls. Approval requests show the script's tool
// call, the only call known to the editor.
func (r *Runner) caller(s script) func(context.Context, string, json.RawMessage) tools.Result {
	return func(ctx context.Context, tool string, args json.RawMessage) tools.Result {
		if tool == mcpName && r.callsMCP() {
			return r.callMCP(ctx, s, args)
		}
		result, _ := s.env.Dispatch.Set.Call(ctx, s.env, tools.Call{ID: s.call.ID, Name: tool, Args: args}) // the error is ctx's, and the result reports it
		return result
	}
}

// box returns the sandbox of a call.
func (r *Runner) box(env *tools.Env) *sandbox.Box { return r.cfg.Bounds.For(env).Sandbox }

// confine sets the limits of a script's process and the session's sandbox. In the sandbox, the
// staging directory is writable; opening lists the user's approvals for the script. If confine
// returns an error, the process must not start.
func (r *Runner) confine(ctx context.Context, env *tools.Env, c *proc.Cmd, opening sandbox.Opening) error {
	c.Limits = proc.Limits{MemoryMB: r.cfg.MaxMemoryMB, Processes: r.cfg.MaxProcs, OpenFiles: openFiles}
	if err := r.box(env).With(opening).Confine(ctx, c); err != nil {
		return fmt.Errorf("the script was not started: %w", err)
	}
	return nil
}

// once runs a script in a new process.
func (r *Runner) once(ctx context.Context, env *tools.Env, s script) (done ending, err error) {
	held := !r.strict() && r.box(env).Holds(ctx) && r.stagings.turn.TryLock()
	if held {
		defer r.stagings.turn.Unlock()
	}
	stage, err := r.stage(ctx, env, held)
	if err != nil {
		return done, err
	}
	defer stage.remove()
	functions := r.functionsOf(s.env)
	if err := stage.fill(functions); err != nil {
		return done, err
	}
	if err := stage.write(scriptName, s.code); err != nil {
		return done, err
	}
	socket, err := listen(stage.path("s"))
	if err != nil {
		return done, err
	}
	defer socket.close()

	running := r.newRunningScript(env, s, functions)
	socket.open(ctx, running.queue)
	c := r.command(ctx, env, s.python, stage, socket, "start.py")
	c.Stdout, c.Stderr = running.stdout(socket.token), running.errs
	if held {
		c.Scratch, c.Shown, c.Together = "", r.stagings.dir.Path(), true
	}
	if err := r.confine(ctx, env, &c, s.opening); err != nil {
		return done, err
	}
	defer env.Running(ctx)()
	p, err := proc.Start(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			return ending{interrupted: true, exit: proc.Exit{Code: 130}}, nil
		}
		return done, fmt.Errorf("starting the script: %w", err)
	}
	running.begin(p.Stop)
	exit, err := p.Wait()
	socket.close()
	done = running.end(exit, ctx.Err() != nil)
	if err != nil && ctx.Err() == nil {
		done.note = "After the script: " + err.Error()
	}
	done.errs = strings.ReplaceAll(done.errs, stage.dir+"/", "")
	return done, nil
}

// stage makes the staging directory of a script. A held script cannot write the directory, so its
// sandbox is kept for the next script. A script running beside it gets a separate sandbox.
func (r *Runner) stage(ctx context.Context, env *tools.Env, held bool) (*staging, error) {
	if held {
		return r.stagings.add()
	}
	return newStaging(ctx, r.box(env))
}

// command returns the command that runs start.py or kernel.py. The interpreter is isolated (-I), so
// nothing of the workspace affects its start: no sitecustomize, no PYTHON* variable, no module of
// the working directory.
func (r *Runner) command(ctx context.Context, env *tools.Env, python Python, stage *staging, socket *socket, program string) proc.Cmd {
	args := []string{python.Path, "-I", "-B", "-X", "utf8", stage.path("boot/" + program), stage.path(scriptName)}
	dir := stage.path("work")
	r.passedMu.Lock()
	base := set(proc.Unattended(environ(r.environ(ctx), r.cfg.Passthrough), r.cfg.Passthrough), r.passed...)
	r.passedMu.Unlock()
	if !r.strict() {
		folders := r.cfg.Files.Folders()
		args, dir = append(args, folders...), folders[0]
	}
	return proc.Cmd{
		Args: args, Dir: dir, Env: scriptEnviron(base, python, socket.path, socket.token),
		Scratch: stage.dir, Grace: cancelGrace,
	}
}

// result makes the tool result of an ending.
func (r *Runner) result(e ending, python Python, code string) tools.Result {
	o := outcome{
		Status: "success", Output: e.out, Errors: e.errs, ExitCode: e.exit.Code,
		ToolCalls: e.calls, Duration: seconds(e.took), FullOutput: e.full, FullErrors: e.fullErrs,
	}
	switch {
	case e.interrupted:
		o.Status = "interrupted"
		o.Output = withLine(o.Output, interruptedText)
	case e.timedOut:
		o.Status = "timeout"
		text := fmt.Sprintf(timeoutText, r.cfg.Timeout.Seconds())
		o.Output, o.Errors = withLine(o.Output, text), withLine(o.Errors, text)
	case e.limitAbuse:
		o.Status = "error"
		o.Errors = withLine(o.Errors, fmt.Sprintf(limitAbuseText, r.cfg.MaxCalls))
	case e.exit.Code != 0:
		o.Status = "error"
	}
	o.Note = joined(e.note, r.hints(e, o.Status, python, code))
	if len(python.Passed) > 0 {
		o.Python = fmt.Sprintf("%s (%s, %s)", python.Path, python.Version, python.Why)
		o.Note = joined("It ran with "+o.Python+", because "+strings.Join(python.Passed, "; ")+".", o.Note)
	}
	result := tools.OK(o)
	result.IsError = o.Status == "error" || o.Status == "timeout"
	result = result.With(tools.Content{Text: markup.Fenced("python", code)})
	if shown := strings.TrimSpace(o.Output + "\n" + o.Errors); shown != "" {
		result = result.With(tools.Content{Text: markup.Fenced("", shown)})
	}
	result = result.With(fewChanges(e.changes)...)
	for i := range e.record {
		result = result.With(tools.Content{Inner: &e.record[i]})
	}
	return result
}

// shownChanges limits the file changes shown in the editor, in bytes.
const shownChanges = 512 << 10

// fewChanges returns the first changes, up to shownChanges.
func fewChanges(changes []tools.Content) []tools.Content {
	left := shownChanges
	for i, c := range changes {
		left -= len(c.Diff.New)
		if c.Diff.Old != nil {
			left -= len(*c.Diff.Old)
		}
		if left < 0 {
			return changes[:i]
		}
	}
	return changes
}

// withLine adds a line at the end of text.
func withLine(text, line string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + line
}

// joined joins the nonempty notes.
func joined(notes ...string) string {
	notes = slices.DeleteFunc(notes, func(n string) bool { return n == "" })
	return strings.Join(notes, " ")
}

var errClosed = errors.New("the session is closed")
