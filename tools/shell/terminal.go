package shell

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

//go:embed terminal.md
var terminalWords string

const (
	terminalTimeout    = 180 * time.Second
	terminalMaxTimeout = 600 * time.Second
	progressEvery      = 100 * time.Millisecond

	leastMilliseconds = 10_000 // a larger timeout is in milliseconds
)

type terminalIn struct {
	Command    string  `json:"command" jsonschema:"such as go test ./store -run TestPage"`
	Timeout    float64 `json:"timeout,omitempty" jsonschema:"seconds; default 180; above 600 the command runs in the background"`
	Workdir    string  `json:"workdir,omitempty" jsonschema:"directory for this command only"`
	Background bool    `json:"background,omitempty" jsonschema:"true: return a session_id at once; for servers and watchers"`
	PTY        bool    `json:"pty,omitempty" jsonschema:"true: give the command a terminal, if it requires one"`
	// Watch lasts beyond the call. Models know the name from Hermes Agent.
	Watch []string `json:"watch_patterns,omitempty" jsonschema:"background: texts; a notice tells you which output lines contain one"`
}

type terminalOut struct {
	Output      string `json:"output"`
	ExitCode    int    `json:"exit_code"`
	Cwd         string `json:"cwd"`
	TimedOut    bool   `json:"timed_out,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"`
	Note        string `json:"note,omitempty"`
	FullOutput  string `json:"full_output,omitempty"` // file with the whole output
}

// startedOut is the result of a background command.
type startedOut struct {
	SessionID string `json:"session_id"`
	PID       int    `json:"pid"`
	Note      string `json:"note,omitempty"`
}

func terminalTool(c Config) tools.Tool {
	return tools.New(tools.Tool{
		Name: "terminal", Toolset: "terminal", RunsCommands: true, Plans: true, Replay: tools.ReplayedIf, Kind: tools.KindExecute, TellsRunning: true,
		ResultCap:   8 * outputLimit, // bytes: the output is cut by characters already
		Description: strings.TrimSpace(terminalWords),
		Brief:       "Run a shell command, such as a build, a test or git, and wait for it. It gets no input. Print little. Not for reading or editing files.",
		BriefParams: []string{"command", "timeout"},
		Title:       tools.Titled(func(in terminalIn) string { return "$ " + in.Command }),
		Script:      `(command, timeout=None, workdir=None) → output, exit_code; foreground`,
	}, with(c, terminal))
}

func terminal(ctx context.Context, env *callEnv, call tools.Call, in terminalIn) (tools.Result, error) {
	if env.Shell == nil {
		return tools.Fail("This session has no shell, so commands cannot run."), nil
	}
	if wrong := in.check(env); wrong != "" {
		return tools.Fail("%s", wrong), nil
	}
	if err := env.bounded(); err != nil {
		return tools.Result{}, err
	}
	inMilliseconds := ""
	if in.Timeout >= leastMilliseconds && in.Timeout < 1e9 && !in.Background {
		in.Timeout /= 1000
		inMilliseconds = fmt.Sprintf("timeout is in seconds; it was read as %v seconds", in.Timeout)
	}
	if err := env.Shell.openBackend(ctx); err != nil {
		return tools.Result{}, err
	}
	env.Shell.begin(ctx)
	state := env.Shell.snapshot() // run the command with the judged state
	c := Command{Text: in.Command, Timeout: in.limit(env.Shell.timeout()), pty: in.PTY, from: &state}
	apart := env.Processes != nil
	if in.Workdir != "" {
		dir, err := folder(env, in.Workdir)
		if err != nil {
			return tools.Result{}, err
		}
		c.Dir = dir
	}
	opening, err := mayRun(ctx, env, call, c)
	if err != nil {
		return tools.Result{}, err
	}
	unsaved := ""
	if !env.Shell.isRemote() {
		unsaved = joinNotes(c.open(env, opening), explainUnsaved(env.Files.Unsaved(ctx)))
	}
	switch {
	case apart && in.Background:
		c.Timeout = 0
		return startApart(ctx, env, call, c, in.Watch, unsaved)
	case apart && in.Timeout > terminalMaxTimeout.Seconds():
		c.Timeout = min(time.Duration(min(in.Timeout, 1e6)*float64(time.Second)), 10*24*time.Hour)
		why := fmt.Sprintf("runs in the background, because timeout is above %v seconds", terminalMaxTimeout.Seconds())
		return startApart(ctx, env, call, c, in.Watch, joinNotes(why, unsaved))
	}
	return runShown(ctx, env, call, c, joinNotes(inMilliseconds, in.note(), unsaved))
}

// startApart starts the command and does not wait for it.
func startApart(ctx context.Context, env *callEnv, call tools.Call, c Command, watch []string, note string) (tools.Result, error) {
	b, err := env.Processes.start(ctx, env, call, c, slices.DeleteFunc(watch, func(w string) bool { return w == "" }))
	if err != nil {
		return tools.Result{}, err
	}
	return tools.OK(startedOut{SessionID: b.id, PID: b.process.Pid(), Note: note}), nil
}

// check returns a sentence for the model about a problem of the input, or "".
func (in terminalIn) check(env *callEnv) string {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return "command is empty: give a shell command, such as \"ls\"."
	case strings.HasPrefix(strings.TrimSpace(in.Command), "apply_patch") && strings.Contains(in.Command, "*** Begin Patch"):
		return "apply_patch is not a command here. Nothing was run. Call the tool for edits, with mode=patch and the text from *** Begin Patch to *** End Patch as patch."
	case strings.ContainsRune(in.Command, 0):
		return "command holds a NUL character, which no shell takes: leave it out."
	case in.Background && env.Reader.Script:
		return "terminal runs in the foreground only in a script: leave background out, and start background processes with a normal call of terminal."
	case in.PTY && env.Reader.Script:
		return "terminal has no pty in a script: leave pty out."
	case in.Background && env.Processes == nil:
		return "background=true is not offered here: run the command in the foreground, with a timeout if it does not end by itself."
	case in.PTY && runtime.GOOS == "windows":
		return "pty=true is not offered on Windows: run the command without it, with flags that keep it from asking."
	case in.Timeout < 0:
		return fmt.Sprintf("timeout is %v, but must be a number of seconds above 0. Nothing was run. Leave it out for %v seconds.", in.Timeout, terminalTimeout.Seconds())
	}
	return ""
}

func (in terminalIn) limit(usual time.Duration) time.Duration {
	switch {
	case in.Timeout == 0:
		return usual
	case in.Timeout >= terminalMaxTimeout.Seconds():
		return terminalMaxTimeout
	}
	return max(time.Duration(in.Timeout*float64(time.Second)), time.Millisecond)
}

func (in terminalIn) note() string {
	if in.Timeout > terminalMaxTimeout.Seconds() {
		return fmt.Sprintf("timeout was lowered to the most there is, %v seconds", terminalMaxTimeout.Seconds())
	}
	return ""
}

// folder is a working directory inside the workspace.
func folder(env *callEnv, path string) (string, error) {
	if env.Shell.isRemote() {
		return env.Shell.folderThere(path), nil
	}
	abs, err := env.Files.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err != nil || !info.IsDir() {
		return "", fmt.Errorf("workdir %s is not a folder. Nothing was run. Send a folder of the workspace, or leave workdir out", env.Files.Name(abs))
	}
	return abs, nil
}

// mayRun asks the gate whether the command may run, and returns the opening of the sandbox
// for it. The directory must be the same afterwards: an approval request may be open for
// minutes.
func mayRun(ctx context.Context, env *callEnv, call tools.Call, c Command) (sandbox.Opening, error) {
	place := c.place(ctx, env)
	before, _ := os.Stat(place.Cwd)
	opening, err := gate.Approve(ctx, env.Env, env.Bounds, call, c.Text, env.Shell.isRemote(), place, func(place policy.Scope) policy.Verdict {
		if env.Shell.Name() == "fish" {
			return asFish(c.Text, policy.Command(c.Text, place))
		}
		return policy.Command(c.Text, place)
	})
	if err != nil {
		return opening, err
	}
	if after, _ := os.Stat(place.Cwd); before != nil && (after == nil || !os.SameFile(before, after)) {
		return opening, fmt.Errorf("the command was rejected: the folder %s is not the one that it was judged in; call again", place.Cwd)
	}
	return opening, nil
}

// place is where the command runs, for a judgement of it.
func (c Command) place(ctx context.Context, env *callEnv) policy.Scope {
	if s := env.Shell; s.isRemote() {
		return policy.Scope{Cwd: cmp.Or(c.Dir, c.from.dir), Roots: []string{s.first}, Home: s.home, Env: c.from.exports()}
	}
	home, _ := os.UserHomeDir()
	return policy.Scope{
		Cwd: cmp.Or(c.Dir, c.from.dir), Roots: env.Files.Folders(), Home: home, HermesHome: env.HermesHome,
		Temp: env.Sandbox.OwnTemp(ctx), Env: c.from.exports(), Resolve: gate.FollowLinks,
		Importer: gate.Importer(env.Sandbox, env.Files.Folders()),
	}
}

// runShown runs the command and shows its output while it comes.
func runShown(ctx context.Context, env *callEnv, call tools.Call, c Command, note string) (tools.Result, error) {
	limit := modelLimit
	if env.Reader.Script {
		limit = outputLimit
	}
	out := newCapture(env.OutputDir, limit, env.Secrets)
	c.Output, c.runs = out, env.Running
	inEditor := useEditorTerminal(env, call, &c)
	places, err := gate.WatchPlaces(ctx, env.Env, call, c.box, env.Secrets.Hide)
	if err != nil {
		return tools.Result{}, err
	}
	stopShowing := showLive(env, call, out)
	outcome, err := env.Shell.Run(ctx, c)
	stopShowing()
	text, full := out.finish()
	settled := places.Review(ctx, env.Env, call)
	if err != nil && ctx.Err() == nil {
		return tools.Result{}, err
	}
	shown := tools.Content{Text: text}
	if inEditor != nil && inEditor.id != "" {
		shown = tools.Content{Terminal: inEditor.id}
		note = joinNotes(note, inEditor.note())
	}
	result := terminalOut{
		Output: text, ExitCode: outcome.Code, Cwd: outcome.Cwd,
		TimedOut: outcome.TimedOut, Interrupted: ctx.Err() != nil,
		Note:       joinNotes(note, explainEnd(ctx, env, c, outcome, text), explainCwd(env, outcome), explainTooLarge(outcome), settled),
		FullOutput: full,
	}
	brief := terminalBrief(result)
	if outcome.Cwd == c.from.dir {
		brief.Cwd = ""
	}
	return tools.OK(result).Brief(brief).With(shown), nil
}

// terminalBrief is a terminalOut for the model. It omits an unchanged folder.
type terminalBrief struct {
	Output      string `json:"output"`
	ExitCode    int    `json:"exit_code"`
	Cwd         string `json:"cwd,omitempty"`
	TimedOut    bool   `json:"timed_out,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"`
	Note        string `json:"note,omitempty"`
	FullOutput  string `json:"full_output,omitempty"`
}

// showLive sends new output to the editor, at most ten times a second, until stop is called.
func showLive(env *callEnv, call tools.Call, out *capture) (stop func()) {
	if env.Progress == nil {
		return func() {}
	}
	done := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for last := 0; ; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if end, lines, chars := out.live(); chars != last {
				last = chars
				env.Progress(tools.Progress{CallID: call.ID, Message: plural(lines, "line"), Shown: []tools.Content{{Text: end}}})
			}
		}
	})
	return func() { close(done); showing.Wait() }
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// joinNotes joins the notes that are not empty.
func joinNotes(notes ...string) string {
	var said []string
	for _, n := range notes {
		if n != "" {
			said = append(said, n)
		}
	}
	return strings.Join(said, "; ")
}

// mostUnsaved is how many unsaved documents a note names.
const mostUnsaved = 5

// explainUnsaved explains that commands do not see unsaved buffers.
func explainUnsaved(names []string) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n > mostUnsaved:
		names = append(names[:mostUnsaved:mostUnsaved], fmt.Sprintf("and %d more", n-mostUnsaved))
	}
	return "not saved in the editor: " + strings.Join(names, ", ") + "; commands see the versions on the disk"
}

// explainEnd explains why a command ended. If it was canceled, its exit code means nothing.
func explainEnd(ctx context.Context, env *callEnv, c Command, o Outcome, text string) string {
	if ctx.Err() != nil {
		return tools.StoppedText(ctx)
	}
	return joinNotes(explainExit(env, c, o), explainJobs(env, c, o), env.Shell.explainRemoteExit(o), explainLimit(o), explainSandbox(env, c.box, text, o))
}

// explainExit explains misleading exit codes.
func explainExit(env *callEnv, c Command, o Outcome) string {
	if o.TimedOut {
		next := fmt.Sprintf("a larger timeout (at most %v)", terminalMaxTimeout.Seconds())
		if env.Processes != nil {
			next += " or background=true"
		}
		return fmt.Sprintf("ended after %v seconds, its time limit; the folder and variables it set are lost. If it needs longer, run it again with %s", c.Timeout.Seconds(), next)
	}
	switch program := lastProgram(c.Text); {
	case o.Code == 1 && (program == "grep" || program == "egrep" || program == "fgrep" || program == "rg" || program == "ag"):
		return "exit code 1 of " + program + " means that nothing matched; it is no failure"
	case o.Code == 1 && (program == "diff" || program == "cmp"):
		return "exit code 1 of " + program + " means that the files differ; it is no failure"
	case o.Code == 124 && program == "timeout":
		return "exit code 124 of timeout means that its time limit was reached"
	case o.Code == 126:
		return "exit code 126: found, but it may not be executed (no x permission, or a folder)"
	case o.Code == 127:
		return "exit code 127: command not found; check its name, or whether it is installed. " + env.Shell.pathFrom() + ", with the usual folders of tools in the home"
	}
	return explainSignal(o.Code)
}

func explainSignal(code int) string {
	switch code {
	case 130:
		return "exit code 130: interrupted (SIGINT)"
	case 134:
		return "exit code 134: it aborted (SIGABRT)"
	case 137:
		return "exit code 137: killed (SIGKILL), often for lack of memory"
	case 139:
		return "exit code 139: it crashed on invalid memory (SIGSEGV)"
	case 143:
		return "exit code 143: it was asked to end (SIGTERM)"
	}
	return ""
}

// explainLimit explains that we ended the command.
func explainLimit(o Outcome) string {
	switch o.Limit {
	case "":
		return ""
	case proc.LimitProcesses:
		return fmt.Sprintf("everything was ended, because more than %d processes ran at once", mostProcesses)
	}
	return "everything was ended, because it went over its limit of " + o.Limit
}

// explainSandbox explains that the sandbox denied something.
func explainSandbox(env *callEnv, box *sandbox.Box, text string, o Outcome) string {
	if env.Shell.on != nil {
		return ""
	}
	return box.Explain(text, o.Code != 0)
}

func explainCwd(env *callEnv, o Outcome) string {
	if o.LostDir != "" {
		return "the folder " + o.LostDir + " is gone; the command ran in the workspace's first folder"
	}
	if _, err := env.Files.Abs(o.Cwd); err != nil && !env.Shell.isRemote() {
		return "the folder is outside the workspace now; the file tools do not reach it"
	}
	return ""
}

// explainTooLarge names the variables missing in the next command.
func explainTooLarge(o Outcome) string {
	if len(o.TooLarge) == 0 {
		return ""
	}
	return "not kept for the next command, because no program could be started with them: " + strings.Join(o.TooLarge, ", ") + "; put large values into files"
}

// explainJobs explains that commands started with & have ended.
func explainJobs(env *callEnv, c Command, o Outcome) string {
	switch {
	case o.TimedOut || !leavesJobs(c.Text):
		return ""
	case env.Processes == nil:
		return "what & had started was ended with the command"
	}
	return "what & had started was ended with the command; start with background=true what is to go on"
}

// leavesJobs reports whether a command line starts a job with & and neither waits for it nor ends
// it.
func leavesJobs(text string) bool {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return false
	}
	starts, looksAfter := false, false
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Stmt:
			starts = starts || n.Background
		case *syntax.CallExpr:
			name := ""
			if len(n.Args) > 0 {
				name = n.Args[0].Lit()
			}
			looksAfter = looksAfter || name == "wait" || name == "kill"
		}
		return true
	})
	return starts && !looksAfter
}

// lastProgram returns the program that determines the exit code of a command line, or "" if
// unknown.
func lastProgram(text string) string {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil || len(file.Stmts) == 0 {
		return ""
	}
	node := file.Stmts[len(file.Stmts)-1].Cmd
	for {
		switch cmd := node.(type) {
		case *syntax.BinaryCmd:
			node = cmd.Y.Cmd
		case *syntax.CallExpr:
			if len(cmd.Args) == 0 {
				return ""
			}
			return cmd.Args[0].Lit()
		default:
			return ""
		}
	}
}
