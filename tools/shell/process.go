package shell

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hermes-ls/hermes-ls/tools/policy"
)

//go:embed process.md
var processWords string

const (
	logLines     = 200  // of output in a log result
	mostLogLines = 2000 // when it is asked for more
)

type processAction string

func (processAction) Enum() []string {
	return []string{"list", "poll", "log", "wait", "kill", "write", "submit"}
}

type processIn struct {
	Action    processAction `json:"action" jsonschema:"list: all; poll: status; log: output; wait: until it ends; kill: end it; write: send data; submit: send data and Enter"`
	SessionID string        `json:"session_id,omitempty" jsonschema:"as the start or list returned it; required except for list"`
	Offset    *int          `json:"offset,omitempty" jsonschema:"log: lines to skip; default: show the last lines"`
	Limit     int           `json:"limit,omitempty" jsonschema:"log: number of lines; default 200"`
	Timeout   float64       `json:"timeout,omitempty" jsonschema:"wait: seconds; default 180, at most 600"`
	Data      string        `json:"data,omitempty" jsonschema:"write, submit: the text; \\u0004 ends the input"`
}

type processListOut struct {
	Processes []processListed `json:"processes"`
}

type processListed struct {
	SessionID string `json:"session_id"`
	Command   string `json:"command"`
	Status    string `json:"status"`
	PID       int    `json:"pid"`
	StartedAt string `json:"started_at"`
}

type processState struct {
	Status   string `json:"status"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Note     string `json:"note,omitempty"`
}

type processLogOut struct {
	Output     string `json:"output"`
	NextOffset int    `json:"next_offset"`
	Note       string `json:"note,omitempty"`
}

func processTool(c Config) tools.Tool {
	return tools.New(tools.Tool{
		Name: "process", Toolset: "terminal", RunsCommands: true, Plans: true, Replay: tools.ReplayedIf, Kind: tools.KindExecute, TellsRunning: true,
		ResultCap:   8 * outputLimit, // bytes: the output is cut by characters already
		Description: strings.TrimSpace(processWords),
		Title:       tools.Titled(func(in processIn) string { return strings.TrimSpace(string(in.Action) + " " + in.SessionID) }),
	}, with(c, process))
}

func process(ctx context.Context, env *callEnv, call tools.Call, in processIn) (tools.Result, error) {
	if env.Processes == nil {
		return tools.Fail("There are no background processes here."), nil
	}
	if in.Action == "list" {
		return listProcesses(env.Processes), nil
	}
	b, wrong := env.Processes.named(in)
	if wrong != "" {
		return tools.Fail("%s", wrong), nil
	}
	if env.Planning && !b.planned && (in.Action == "kill" || in.Action == "write" || in.Action == "submit") {
		return tools.Result{}, tools.Rejected("command was started before that mode, so it may write")
	}
	switch in.Action {
	case "log":
		return b.page(in)
	case "wait":
		return waitFor(ctx, env.Processes, b, in)
	case "kill":
		return kill(ctx, env.Processes, b)
	case "write", "submit":
		return typeInto(ctx, env, call, b, in)
	}
	return tools.OK(b.state(env.Processes)), nil
}

func listProcesses(p *Processes) tools.Result {
	out := processListOut{Processes: []processListed{}}
	for _, b := range p.list() {
		out.Processes = append(out.Processes, processListed{
			SessionID: b.id, Command: b.command, Status: b.status(), PID: b.process.Pid(),
			StartedAt: b.started.UTC().Format(time.RFC3339),
		})
	}
	return tools.OK(out)
}

// named finds the process named by a call. If there is none, wrong explains it.
func (p *Processes) named(in processIn) (b *background, wrong string) {
	if b = p.find(in.SessionID); b != nil {
		return b, ""
	}
	var known []string
	for _, b := range p.list() {
		known = append(known, b.id)
	}
	there := "There are none: start one by terminal with background=true. They end with the server."
	if len(known) > 0 {
		there = "There are " + strings.Join(known, ", ") + "."
	}
	if in.SessionID == "" {
		return nil, fmt.Sprintf("%s needs a session_id. %s", in.Action, there)
	}
	return nil, fmt.Sprintf("There is no background process %q (those that ended are kept for %d minutes). %s", tools.OneLine(in.SessionID, 60), int(keptAfter.Minutes()), there)
}

func (b *background) status() string {
	switch {
	case !b.isOver():
		return "running"
	case b.reason() != "" || b.exit.Limit != "":
		return "killed"
	}
	return "exited"
}

// state returns the answer of poll and wait. The model gets no notice of it again.
func (b *background) state(p *Processes) processState {
	s := processState{Status: b.status()}
	if s.Status != "running" {
		p.dropNotice(b)
		s.ExitCode, s.Note = &b.exit.Code, joinNotes(explainSignal(b.exit.Code), b.note)
		if why := b.reason(); why != "" {
			s.Note = joinNotes("ended, because "+why, b.note)
		}
	}
	return s
}

func (b *background) page(in processIn) (tools.Result, error) {
	offset, limit := -1, logLines
	if in.Offset != nil {
		offset = max(0, *in.Offset)
	}
	if in.Limit > 0 {
		limit = min(in.Limit, mostLogLines)
	}
	p, err := b.log.read(offset, limit)
	if err != nil {
		return tools.Result{}, err
	}
	out := processLogOut{Output: p.text, NextOffset: p.next}
	if offset >= 0 && offset < p.from {
		out.Note = fmt.Sprintf("lines before %d are not kept any more", p.from)
	}
	if p.lost != nil {
		out.Note = joinNotes(out.Note, "some of it could not be kept: "+p.lost.Error())
	}
	return tools.OK(out).With(tools.Content{Text: p.text}), nil
}

func waitFor(ctx context.Context, p *Processes, b *background, in processIn) (tools.Result, error) {
	if in.Timeout < 0 {
		return tools.Fail("timeout must be a number of seconds above 0."), nil
	}
	timer := time.NewTimer(terminalIn{Timeout: in.Timeout}.limit(terminalTimeout))
	defer timer.Stop()
	select {
	case <-b.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	return tools.OK(b.state(p)), ctx.Err()
}

func kill(ctx context.Context, p *Processes, b *background) (tools.Result, error) {
	if !b.isOver() {
		b.setEndReason("you killed it")
		b.process.Stop(timeoutGrace)
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return tools.Result{}, ctx.Err()
	}
	return tools.OK(b.state(p)), nil
}

// typeInto types into a process after the gate's approval: a background shell is no way around it.
func typeInto(ctx context.Context, env *callEnv, call tools.Call, b *background, in processIn) (tools.Result, error) {
	data := in.Data
	if in.Action == "submit" {
		data += "\n"
	}
	if data == "" {
		return tools.Fail("data is empty: give the text to type."), nil
	}
	if b.isOver() {
		return tools.Fail("%s %s: it takes no input any more.", b.id, b.ending()), nil
	}
	b.mu.Lock()
	text := b.typed + data
	b.mu.Unlock()
	if err := gate.CheckCommand(ctx, env.Env, call, "type into "+b.command+": "+text, b.judge(text)); err != nil {
		return tools.Result{}, err
	}
	if err := b.input.write(data); err != nil {
		return tools.Fail("Nothing was typed: %v.", err), nil
	}
	b.mu.Lock()
	b.typed = pending(text)
	b.mu.Unlock()
	return tools.OK(b.state(env.Processes)), nil
}

// judge returns the verdict on typed text.
func (b *background) judge(text string) policy.Verdict {
	return policy.Typed(b.command, text, b.place)
}

// pendingLimit is how much typed text is judged again with later text.
const pendingLimit = 4 << 10

// pending returns the typed text to judge again with later text: an unfinished line, also after a
// backslash, and text that is not yet a whole command.
func pending(text string) string {
	line := text[strings.LastIndexByte(text, '\n')+1:]
	for strings.HasSuffix(strings.TrimSuffix(text, line), "\\\n") {
		before := strings.TrimSuffix(strings.TrimSuffix(text, line), "\\\n")
		line = text[strings.LastIndexByte(before, '\n')+1:]
	}
	if _, err := syntax.NewParser().Parse(strings.NewReader(text), ""); err != nil {
		line = text
	}
	return line[max(0, len(line)-pendingLimit):]
}
