// Package hooks runs programs of the user at events: before and after a tool call, before a prompt,
// at the end of a turn, before a compaction, and when sessions and subagents begin and end. The
// names and the forms come from Hermes Agent and Claude Code.
//
// A hook can block, ask, change and add. It never allows an action that would otherwise require
// approval or be blocked. If a hook fails before a call, the call does not run, unless the user
// chose fail_closed: false. Calls of scripts, subagents and commands pass the same hooks. Without a
// configured hook, the package does nothing.
package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/tools"
)

// maxOutput limits stdout and stderr of a hook, in bytes.
const maxOutput = 1 << 20

// Options are the parts of the program used by hooks.
type Options struct {
	// Dir returns the start directory of hooks. It is outside the workspace, so programs do not
	// load a repository's files.
	Dir string
	// Environ returns the environment of a hook.
	Environ func(ctx context.Context, roots []string) []string
	// Transcript writes the log of a session to a file and returns its path. It may be nil.
	Transcript func(ctx context.Context, sessionID string) (path string, err error)
	// Confine bounds hooks with sandbox: true. Nil: the session's Confine is used.
	Confine func(ctx context.Context, c *proc.Cmd) error
	// OnlyReads is set if Confine allows no writes in the workspace.
	OnlyReads bool
}

// New returns the extension.
func New(o Options) extension.Extension { return hooks{o} }

type hooks struct{ Options }

func (hooks) Name() string { return "hooks" }

func (e hooks) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	var all []Hook
	if err := s.Config(&all); err != nil {
		return nil, err
	}
	return &instance{Options: e.Options, session: s, hooks: all}, nil
}

type instance struct {
	Options
	session *extension.Session
	hooks   []Hook
	spare   proc.Spare // for the next hook outside of the sandbox
}

// Close ends the process prepared for the next hook. A hook ends with its event.
func (x *instance) Close(context.Context) error {
	x.spare.Close()
	return nil
}

// opened reports hooks that cannot start or never run. Invalid hooks are problems of the configuration.
func (x *instance) opened([]any) (start func()) {
	if len(x.hooks) == 0 {
		return nil
	}
	return func() {
		for _, h := range x.hooks {
			if err := x.check(h); err != nil && h.invalid == nil {
				x.session.Notify(fmt.Sprintf("The hook %q for %s cannot start: %v", h.Name(), h.Event, err))
			} else if h.unfit != "" {
				x.session.Notify(fmt.Sprintf("The hook %q for %s: %s", h.Name(), h.Event, h.unfit))
			}
		}
	}
}

// program returns the absolute path of the hook's program, which it looks for in a value of PATH.
func (h Hook) program(roots []string, path string) (string, error) {
	if h.invalid != nil {
		return "", h.invalid
	}
	if strings.ContainsRune(h.words[0], '/') {
		info, err := os.Stat(h.words[0])
		switch {
		case err != nil:
			return "", err
		case info.IsDir() || info.Mode()&0o111 == 0:
			return "", fmt.Errorf("%s is not an executable file", h.words[0])
		}
		return h.words[0], nil
	}
	return program.FindIn(path, h.words[0], roots)
}

// run starts a hook and returns its answer.
func (x *instance) run(ctx context.Context, h Hook, p payload) (a answer, err error) {
	p.Event, p.Cwd = h.Event, x.session.Cwd
	if h.claude != "" {
		p.Event = h.claude
	}
	if p.SessionID == "" {
		p.SessionID = x.session.ID
	}
	if p.Extra == nil {
		p.Extra = map[string]any{}
	}
	if x.Transcript != nil && (h.event == transformLLM || h.event == preCompress || h.event == sessionEnd) {
		if p.Transcript, err = x.Transcript(ctx, p.SessionID); err != nil {
			return a, fmt.Errorf("its transcript could not be written: %w", err)
		}
	}
	input, err := tools.Marshal(p)
	if err != nil {
		return a, err
	}
	code, stdout, stderr, err := x.start(ctx, h, input)
	if err != nil {
		return a, err
	}
	a, err = h.read(code, stdout, stderr)
	if a.SystemMessage != "" {
		x.session.Notify(fmt.Sprintf("The hook %q: %s", h.Name(), a.SystemMessage))
	}
	return a, err
}

// check returns the reason why a hook cannot start. It asks the user's login shell for PATH only if
// the server's PATH does not suffice.
func (x *instance) check(h Hook) error {
	roots := x.session.Folders()
	err := h.Check(roots, os.Getenv("PATH"))
	if err != nil && h.invalid == nil {
		err = h.Check(roots, pathOf(x.Environ(context.Background(), roots)))
	}
	return err
}

func pathOf(env []string) (path string) {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	return path
}

func (x *instance) start(ctx context.Context, h Hook, input []byte) (code int, stdout, stderr []byte, err error) {
	if h.runner != nil {
		stdout, err = h.runner(ctx, input)
		return 0, stdout, nil, err
	}
	roots := x.session.Folders()
	env := x.Environ(ctx, roots)
	path, err := h.program(roots, pathOf(env))
	if err != nil {
		return 0, nil, nil, err
	}
	if err := os.MkdirAll(x.Dir, 0o700); err != nil {
		return 0, nil, nil, err
	}
	out, errs := proc.Bounded{Limit: maxOutput}, proc.Bounded{Limit: maxOutput}
	c := proc.Cmd{
		Args: append([]string{path}, h.words[1:]...), Dir: x.Dir,
		Env:   append(proc.Unattended(env, nil), "HERMES_HOOK_EVENT="+h.Event, "CLAUDE_PROJECT_DIR="+x.session.Cwd),
		Stdin: bytes.NewReader(append(input, '\n')), Stdout: &out, Stderr: &errs,
	}
	if h.Sandbox {
		confine := x.Confine
		if confine == nil {
			confine = x.session.Confine
		}
		if h.label == "" {
			c.Dir = string(filepath.Separator) // the sandbox hides the directory of hermes-ls
		}
		later, err := x.watch(ctx, h)
		if err != nil {
			return 0, nil, nil, err
		}
		defer later()
		if err := confine(ctx, &c); err != nil {
			return 0, nil, nil, fmt.Errorf("it cannot be bound by the sandbox: %w", err)
		}
	} else {
		c.Trusted, c.Spare = true, &x.spare
		defer x.spare.Fill()
	}
	exit, err := proc.Run(ctx, c)
	if ctx.Err() != nil {
		return 0, nil, nil, context.Cause(ctx)
	}
	if err != nil {
		return 0, nil, nil, err
	}
	if out.Over {
		return 0, nil, nil, fmt.Errorf("its output has more than %d bytes", maxOutput)
	}
	return exit.Code, out.Bytes(), errs.Bytes(), nil
}

// watch starts the review of changes by a hook in the sandbox. The review begins with later. It
// does not count toward the hook's time limit, because it may ask the user.
func (x *instance) watch(ctx context.Context, h Hook) (later func(), err error) {
	if x.OnlyReads || x.session.Watch == nil {
		return func() {}, nil
	}
	w, err := x.session.Watch(ctx, fmt.Sprintf("the hook %q", h.Name()))
	return w.Later, err
}

// Hooks returns an entry for each hook.
func (x *instance) Hooks() extension.Hooks {
	return extension.Hooks{Events: x.events(), Opened: x.opened, Entries: x.entries}
}

// events returns an entry for each hook.
func (x *instance) events() (all []extension.Handlers) {
	for _, h := range x.hooks {
		e := extension.Handlers{Name: fmt.Sprintf("the hook %q", h.Name()), Limit: h.Timeout}
		switch h.event {
		case preTool:
			e.FailOpen = h.failClosed != nil && !*h.failClosed
			e.PreToolCall = func(ctx context.Context, c extension.ToolCall) (extension.Decision, error) {
				return x.before(ctx, h, c)
			}
		case transformTool:
			e.FailClosed = h.failClosed != nil && *h.failClosed
			e.TransformToolResult = func(ctx context.Context, c extension.ToolCall, r tools.Result) (tools.Result, error) {
				return x.transform(ctx, h, c, r)
			}
		case postTool:
			e.PostToolCall = func(ctx context.Context, c extension.ToolCall, r tools.Result) (string, error) {
				return x.after(ctx, h, c, r)
			}
		case preLLM:
			e.PreLLMCall = func(ctx context.Context, p extension.Prompt) (extension.PromptDecision, error) {
				return x.prompt(ctx, h, p)
			}
		case transformLLM:
			e.TransformLLMOutput = func(ctx context.Context, o extension.Output) (extension.OutputDecision, error) {
				return x.output(ctx, h, o)
			}
		case preCompress:
			e.PreCompress = func(ctx context.Context, c extension.Compression) (string, error) {
				a, err := x.run(ctx, h, payload{SessionID: c.SessionID, Trigger: "auto", Extra: map[string]any{"hints": c.Hints}})
				return first(a.added(), a.Note, textOf(a.Text)), err
			}
		case sessionStart:
			e.SessionStart = func(ctx context.Context, s extension.SessionEvent) (string, error) {
				a, err := x.run(ctx, h, payload{SessionID: s.SessionID, Source: "startup", Extra: map[string]any{"folders": s.Folders}})
				return a.added(), err
			}
		case sessionEnd:
			e.SessionEnd = func(ctx context.Context, s extension.SessionEvent) error {
				_, err := x.run(ctx, h, payload{SessionID: s.SessionID, Extra: map[string]any{"folders": s.Folders}})
				return err
			}
		case subagentStart:
			e.SubagentStart = func(ctx context.Context, s extension.SubagentEvent) (string, error) {
				a, err := x.run(ctx, h, payload{SessionID: s.SessionID, Extra: map[string]any{"parent_session_id": s.ParentID, "goal": s.Goal}})
				return a.added(), err
			}
		case subagentStop:
			e.SubagentStop = func(ctx context.Context, s extension.SubagentEvent) error {
				_, err := x.run(ctx, h, payload{SessionID: s.SessionID, Extra: map[string]any{"parent_session_id": s.ParentID, "goal": s.Goal, "status": s.Status, "summary": s.Summary}})
				return err
			}
		}
		all = append(all, e)
	}
	return all
}

func textOf(t *string) string {
	if t == nil {
		return ""
	}
	return *t
}

// matches reports whether a hook runs at a call of a tool.
func (h Hook) matches(t tools.Tool) bool {
	if h.matcher == nil {
		return true
	}
	return h.fitting(t) != ""
}

// fitting returns the first matching name of a tool: ours, or Claude Code's. If no name matches, it
// returns "".
func (h Hook) fitting(t tools.Tool) string {
	names := append(claudeTools(t), t.Name)
	if h.claude == "" {
		names = append([]string{t.Name}, names...)
	}
	if i := slices.IndexFunc(names, func(name string) bool { return h.matcher == nil || h.matcher.MatchString(name) }); i >= 0 {
		return names[i]
	}
	return ""
}

// call is the payload of a call.
func (x *instance) call(h Hook, c extension.ToolCall) payload {
	p := payload{Tool: c.Tool.Name, Input: c.Args, SessionID: c.SessionID, CallID: c.ID, Extra: map[string]any{"tool_call_id": c.ID}}
	if h.claude != "" {
		if p.Tool = h.fitting(c.Tool); p.Tool == c.Tool.Name { // the matcher can contain our name
			p.Tool = claudeTools(c.Tool)[0]
		}
		p.Input = claudeInput(c.Args, x.session.Cwd)
	}
	return p
}

// blocked is the text for the model.
func (h Hook) blocked(message string) string {
	return fmt.Sprintf("The user's hook %q blocked this call: %s. Do not try it in another form.", h.Name(), strings.TrimRight(tools.OneLine(message, 2000), ". "))
}

func (x *instance) before(ctx context.Context, h Hook, c extension.ToolCall) (d extension.Decision, err error) {
	if !h.matches(c.Tool) {
		return d, nil
	}
	a, err := x.run(ctx, h, x.call(h, c))
	if err != nil {
		return d, err
	}
	if message, ok := a.blocks(); ok {
		d.Deny = h.blocked(message)
		return d, nil
	}
	if reason, ok := a.asks(); ok {
		d.Ask = fmt.Sprintf("needs your approval, says the hook %q", h.Name())
		if reason != "" {
			d.Ask += ": " + tools.OneLine(reason, 500)
		}
	}
	if len(a.Specific.Input) > 0 && string(a.Specific.Input) != "null" {
		if d.Args = a.Specific.Input; h.claude != "" {
			d.Args = ourInput(a.Specific.Input, c.Args, x.session.Cwd)
		}
	}
	d.Args = onlyKnown(c.Tool, d.Args, c.Args)
	d.Merge = a.Args
	return d, nil
}

func (x *instance) transform(ctx context.Context, h Hook, c extension.ToolCall, r tools.Result) (tools.Result, error) {
	if !h.matches(c.Tool) {
		return r, nil
	}
	p := x.call(h, c)
	p.Response = r.JSON
	a, err := x.run(ctx, h, p)
	if err != nil {
		return r, err
	}
	if message, ok := a.blocks(); ok {
		return tools.Failure(fmt.Sprintf("The user's hook %q withheld this result: %s.", h.Name(), strings.TrimRight(tools.OneLine(message, 2000), ". "))), nil
	}
	if len(a.Result) > 0 && string(a.Result) != "null" {
		r.JSON = a.Result
		if a.Result[0] != '{' {
			if r.JSON, err = json.Marshal(map[string]json.RawMessage{"result": a.Result}); err != nil {
				return r, err
			}
		}
	}
	if text := first(a.Note, a.added()); text != "" {
		r = extension.WithNote(r, text)
	}
	return r, nil
}

func (x *instance) after(ctx context.Context, h Hook, c extension.ToolCall, r tools.Result) (note string, err error) {
	if !h.matches(c.Tool) {
		return "", nil
	}
	p := x.call(h, c)
	p.Response = r.JSON
	a, err := x.run(ctx, h, p)
	if err != nil {
		return "", err
	}
	message, _ := a.blocks()
	return first(a.Note, message, a.Context, a.Specific.Context), nil
}

func (x *instance) prompt(ctx context.Context, h Hook, p extension.Prompt) (d extension.PromptDecision, err error) {
	if p.Note {
		return d, nil // the user has not written it
	}
	a, err := x.run(ctx, h, payload{SessionID: p.SessionID, Prompt: p.Text, Extra: map[string]any{"user_message": p.Text}})
	if err != nil {
		return d, err
	}
	if message, ok := a.blocks(); ok {
		d.Block = fmt.Sprintf("Your hook %q blocked this prompt: %s", h.Name(), message)
		return d, nil
	}
	d.Context = a.added()
	return d, nil
}

func (x *instance) output(ctx context.Context, h Hook, o extension.Output) (d extension.OutputDecision, err error) {
	a, err := x.run(ctx, h, payload{SessionID: o.SessionID, StopActive: &o.Continued, Extra: map[string]any{"response_text": o.Text, "continued": o.Continued}})
	if err != nil {
		return d, err
	}
	if message, ok := a.blocks(); ok {
		d.Continue = message
	}
	d.Text = a.Text
	return d, nil
}

// Check returns why a hook cannot start with a value of PATH; nil: it can.
func (h Hook) Check(roots []string, path string) error {
	_, err := h.program(roots, path)
	return err
}

// Test runs a hook once with a payload, outside of a session, and returns its decision and a text
// about it. The options need a Confine.
func (h Hook) Test(ctx context.Context, o Options, folder string, input json.RawMessage) (Decision, string) {
	ctx, stop := context.WithTimeoutCause(ctx, h.Timeout, fmt.Errorf("no answer within %v", h.Timeout))
	defer stop()
	x := &instance{Options: o, session: &extension.Session{Cwd: folder, Folders: func() []string { return []string{folder} }}}
	defer x.spare.Close()
	code, stdout, stderr, err := x.start(ctx, h, input)
	if err != nil {
		return Failed, err.Error()
	}
	a, err := h.read(code, stdout, stderr)
	if err != nil {
		return Failed, err.Error()
	}
	message, _ := a.blocks()
	reason, _ := a.asks()
	return a.decision(), first(message, reason, a.Note, a.added())
}

// Sample returns a payload of the hook's event for a tool.
func (h Hook) Sample(tool, folder string) json.RawMessage {
	p := payload{Event: h.Event, Tool: tool, Input: map[string]any{}, SessionID: "test", Cwd: folder, Extra: map[string]any{}}
	if h.claude != "" {
		p.Event = h.claude
	}
	if h.event == transformTool || h.event == postTool {
		p.Response = map[string]any{"output": ""}
	}
	if h.event == preLLM {
		p.Prompt = "Hello."
		p.Extra["user_message"] = "Hello."
	}
	data, err := tools.Marshal(p)
	if err != nil {
		return nil
	}
	return data
}

// Runs reports whether the hook runs at an event and, if tool is not empty, for the tool.
func (h Hook) Runs(name, tool string) bool {
	e, _, ok := eventOf(name)
	return ok && e == h.event && (tool == "" || h.matches(tools.Tool{Name: tool}) || h.matcher.MatchString(tool))
}
