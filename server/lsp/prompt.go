package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
	"github.com/hermes-ls/hermes-ls/server/pictures"
	"github.com/hermes-ls/hermes-ls/tools"
)

// job is a prompt and the destination of its answer.
type job struct {
	session *service.Session
	input   agent.Input
	notices bool              // instead of input, the turn begins with the waiting notices
	title   string            // of the progress
	token   lsp.ProgressToken // the editor's; nil: ours
	chat    *chat.Chat        // the document for the answer; nil: none
	shown   string            // the prompt as the chat shows it; empty: it stands there already
	at      *ticket           // of the command; nil: there is none
}

// prompts runs prompts of commands.
type prompts struct {
	log      *slog.Logger
	editor   *editor.Editor
	agent    *acp.Agent
	work     *work
	progress *progresses
	sessions *sessions
	quotes   *quotes
	chats    *chats
}

// prompt is hermes.prompt.
func (x *prompts) prompt(a protocol.PromptArgs, p *lsp.ExecuteCommandParams) (command, error) {
	if strings.TrimSpace(a.Prompt) == "" {
		return command{}, invalidParams("%s: prompt is missing or empty", protocol.CommandPrompt)
	}
	input := agent.Input{Text: a.Prompt}
	shown := a.Prompt
	if a.TextDocument != nil {
		q, err := x.quotes.quote(a.TextDocument.URI, a.Range)
		if err != nil {
			return command{}, err
		}
		input.Context = append(input.Context, q.resource())
		shown += "\n\n(" + q.place + ")"
	}
	return x.prompting(a.SessionID, input, shown, p.WorkDoneToken, a.Wait), nil
}

// feedback is hermes.feedback.
func (x *prompts) feedback(a protocol.FeedbackArgs, p *lsp.ExecuteCommandParams) (command, error) {
	text, err := acp.Feedback(a.Choice)
	if err != nil {
		return command{}, invalidParams("%s: %v", protocol.CommandFeedback, err)
	}
	return x.prompting(a.SessionID, agent.Input{Text: text}, text, p.WorkDoneToken, a.Wait), nil
}

// prompting makes the command for a prompt. If wait is true, the command waits for the answer.
// Otherwise, for an editor without a plugin, the answer goes into the chat, to be visible.
func (x *prompts) prompting(sessionID string, input agent.Input, shown string, token lsp.ProgressToken, wait bool) command {
	return x.running(sessionID, job{input: input, title: titleOf(shown), token: token, shown: shown}, wait)
}

// running makes the command for a job in a session.
func (x *prompts) running(sessionID string, j job, wait bool) command {
	run := func(ctx context.Context, at *ticket) (any, error) {
		session, err := x.sessions.find(ctx, sessionID)
		if err != nil {
			return nil, err
		}
		j := j
		j.session, j.at = session, at
		if err := attachPictures(ctx, &j, ""); err != nil {
			return nil, err
		}
		if !x.sessions.updates(session.ID()) && !wait {
			if j.chat, err = x.chats.ensure(ctx, session); err != nil {
				x.log.Warn("there is no chat document for the answer", "error", err)
				x.editor.Show(lsp.MessageTypeWarning, "Hermes cannot keep a chat document: %v", err)
			} else {
				j.chat.ShowBeforeAnswer()
			}
		}
		result := protocol.TurnResult{SessionID: session.ID()}
		if !wait {
			return followed{result, x.start(j)}, nil
		}
		work := x.claim(j)
		at.release()
		outcome := work(ctx)
		result.StopReason, result.Text = string(outcome.stop), &outcome.text
		return result, outcome.err
	}
	return command{run, &pendingTurn{sessionID, j.token}}
}

// attachPictures adds the pictures named in a job's prompt. document is the directory of the chat
// document with the prompt, or "".
func attachPictures(ctx context.Context, j *job, document string) error {
	files, limits := service.PicturesOf(j.session)
	if err := (pictures.Source{Files: files, Limits: limits, Document: document}).Attach(ctx, &j.input); err != nil {
		return invalidParams("%v", err)
	}
	return nil
}

// start claims the job's place in its session. The caller must call the returned function, which
// does the work in the background.
func (x *prompts) start(j job) func() {
	work := x.claim(j)
	return func() { x.work.start("a turn", func() { x.showError(j, work(x.editor.Ctx)) }) }
}

// outcome is how a turn ended.
type outcome struct {
	stop agent.StopReason
	text string
	err  error
}

// claim takes the place at once, in the order of the calls. The caller must call the returned
// function, which does the work. When it returns, it has notified the progress and the chat.
func (x *prompts) claim(j job) func(context.Context) outcome {
	sink := &fanOut{}
	var turn *service.Turn
	if j.notices {
		turn = service.StartNotices(j.session, sink)
	} else {
		turn = j.session.Start(j.input, sink)
	}
	return func(ctx context.Context) outcome {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		progress := x.progress.startTurn(j.token, j.title, cancel)
		if j.at != nil && j.at.begin() {
			cancel()
		}
		sink.progress = progress
		if x.sessions.updates(j.session.ID()) {
			sink.echo = x.agent.Client.EchoSink(j.session.ID())
		}
		if j.chat != nil {
			sink.answer = j.chat.Answer(j.shown)
		}
		stop, err := turn.Run(ctx)
		if sink.answer != nil {
			sink.answer.Finish(stop, err)
		}
		progress.finish(endOf(stop, err))
		return outcome{stop, sink.answerText(), err}
	}
}

// showError shows the error of a turn if no command waits for it.
func (x *prompts) showError(j job, o outcome) {
	if o.err != nil && x.editor.Ctx.Err() == nil {
		x.editor.Show(lsp.MessageTypeError, "Hermes: %v", o.err)
	}
}

func endOf(stop agent.StopReason, err error) string {
	switch {
	case err != nil:
		return "failed"
	case stop == agent.Cancelled:
		return "cancelled"
	case stop == agent.EndTurn:
		return "done"
	}
	return "stopped: " + strings.ReplaceAll(string(stop), "_", " ")
}

// acpTurn adds a progress to a turn started by a plugin.
func (x *prompts) acpTurn(ctx context.Context, _ string, in agent.Input) (context.Context, agent.Sink, func(agent.StopReason, error)) {
	ctx, cancel := context.WithCancel(ctx)
	progress := x.progress.startTurn(nil, titleOf(in.Text), cancel)
	return ctx, progress, func(stop agent.StopReason, err error) {
		progress.finish(endOf(stop, err))
		cancel()
	}
}

func titleOf(prompt string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	return chat.OneLine(first, 50)
}

// fanOut passes a turn's events on and keeps the last answer.
type fanOut struct {
	progress *progress
	answer   *chat.Answer // nil: no chat
	echo     agent.Sink   // shows a plugin the prompt of a command; nil: no plugin

	mu   sync.Mutex
	text strings.Builder
}

func (f *fanOut) Event(e agent.Event) {
	f.progress.Event(e)
	if _, prompt := e.(agent.UserMessage); prompt && f.echo != nil {
		f.echo.Event(e)
	}
	if f.answer != nil {
		f.answer.Event(e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := e.(type) {
	case agent.Text:
		f.text.WriteString(e.Text)
	case agent.CallStarted: // text before a call is not the answer
		if f.text.Len() > 0 {
			f.text.Reset()
		}
	case agent.Notice:
		if f.answer == nil && f.echo == nil && !e.Passing { // neither a chat nor a plugin shows it
			f.progress.all.editor.Show(lsp.MessageTypeInfo, "%s", e.Text)
		}
	}
}

func (f *fanOut) answerText() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return tools.WithoutControls(tools.StripControl(f.text.String()))
}

// asking is a prompt that hermes-ls writes for a location. The user sees the text and not the
// rules.
type asking struct{ text, rules string }

// actionPrompts are the prompts of the code actions; %s is the location.
var actionPrompts = map[string]asking{
	protocol.CommandExplain: {"Explain %s.", "What it does, how, and what is easy to get wrong about it. Read what you need around it. Change nothing."},
	protocol.CommandFix:     {"Fix %s.", "Find the cause before you change anything, make the smallest change that removes it, and check the result."},
	protocol.CommandReview: {"Review %s.", "Look for bugs, missed cases, and unclear code, the worst first, each with its line and what to do about it. " +
		"Change nothing."},
	protocol.CommandTest: {"Write tests for %s.", "Follow the tests that are there already, and run them."},
	protocol.CommandDocument: {"Document %s.", "Comments in the way of the language and of the code around it, saying why where it is not plain. " +
		"Change no behaviour."},
}

// action is hermes.explain and its kin: a prompt about a place in a document.
func (x *prompts) action(a protocol.ActionArgs, p *lsp.ExecuteCommandParams) (command, error) {
	if a.TextDocument.URI == "" {
		return command{}, invalidParams("%s: textDocument.uri is missing", p.Command)
	}
	q, err := x.quotes.quote(a.TextDocument.URI, a.Range)
	if err != nil {
		return command{}, err
	}
	wish := fmt.Sprintf(actionPrompts[p.Command].text, q.place)
	verb, _, _ := strings.Cut(wish, " ") // the name of a file is not the user's text
	input := agent.Input{Text: wish, Typed: verb, Rules: actionPrompts[p.Command].rules, Context: []agent.Resource{q.resource()}}
	if len(a.Diagnostics) > 0 {
		list := diagnosticsText(a.Diagnostics)
		input.Context = append(input.Context, agent.Resource{URI: a.TextDocument.URI + "#diagnostics", Text: list})
		wish += "\n\nReported there:\n\n" + list
	}
	return x.prompting(a.SessionID, input, wish, p.WorkDoneToken, a.Wait), nil
}

// edit is hermes.edit: an instruction for a location in a document. The plugins show the
// changes in place.
func (x *prompts) edit(a protocol.EditArgs, p *lsp.ExecuteCommandParams) (command, error) {
	instruction := strings.TrimSpace(a.Instruction)
	if a.TextDocument.URI == "" {
		return command{}, invalidParams("%s: textDocument.uri is missing", p.Command)
	}
	if instruction == "" {
		return command{}, invalidParams("%s: instruction is missing or empty", p.Command)
	}
	q, err := x.quotes.quote(a.TextDocument.URI, a.Range)
	if err != nil {
		return command{}, err
	}
	wish := fmt.Sprintf("Edit %s: %s", q.place, instruction)
	input := agent.Input{Text: wish, Typed: instruction, Rules: editRules, Context: []agent.Resource{q.resource()}}
	return x.prompting(a.SessionID, input, wish, p.WorkDoneToken, a.Wait), nil
}

const editRules = "Change only these lines, and others only if they must change with them. Edit the file at once, without commands or tests. " +
	"Then say in one sentence what you changed."

var severities = [...]string{"problem", "error", "warning", "information", "hint"}

// diagnosticsText lists the editor's diagnostics, one per line.
func diagnosticsText(list []protocol.Diagnostic) string {
	var b strings.Builder
	for _, d := range list {
		severity := severities[0]
		if d.Severity > 0 && d.Severity < len(severities) {
			severity = severities[d.Severity]
		}
		fmt.Fprintf(&b, "- line %d: %s: %s", uint64(d.Range.Start.Line)+1, severity, strings.Join(strings.Fields(d.Message), " "))
		if d.Source != "" {
			fmt.Fprintf(&b, " (%s)", d.Source)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// delegate is hermes.delegate: subagents begin without the model being asked first,
// and their reports come into the session as if it had asked.
func (x *prompts) delegate(a protocol.DelegateArgs, p *lsp.ExecuteCommandParams) (command, error) {
	tasks := a.Tasks
	if len(tasks) == 0 {
		tasks = []protocol.DelegateTask{{Goal: a.Goal, Context: a.Context, Toolsets: a.Toolsets}}
	} else if a.Goal != "" {
		return command{}, invalidParams("%s: give either goal or tasks, not both", protocol.CommandDelegate)
	}
	goals := make([]string, len(tasks))
	for i, t := range tasks {
		if goals[i] = strings.TrimSpace(t.Goal); goals[i] == "" {
			return command{}, invalidParams("%s: goal is missing or empty", protocol.CommandDelegate)
		}
	}
	args, err := json.Marshal(map[string]any{"tasks": tasks})
	if err != nil {
		return command{}, fmt.Errorf("encoding the tasks: %w", err)
	}
	input := delegate.Prompt(goals, args)
	return x.prompting(a.SessionID, input, input.Text, p.WorkDoneToken, a.Wait), nil
}

const goOnTitle = "Go on"

func endedText(ready []delegate.Status) string {
	goals := make([]string, len(ready))
	for i, r := range ready {
		goals[i] = fmt.Sprintf("“%s” (%s)", chat.OneLine(r.Goal, 60), r.Status)
	}
	return "Subagents have ended: " + strings.Join(goals, ", ") + "."
}

// startResults starts a turn with the results of subagents.
func (x *prompts) startResults(sessionID string, ready []delegate.Status) {
	x.follow(x.running(sessionID, job{notices: true, title: "Results of subagents", shown: endedText(ready)}, false))
}

// follow runs a command without a message of the editor.
func (x *prompts) follow(c command) {
	result, err := c.run(x.editor.Ctx, nil)
	if err != nil {
		x.editor.Show(lsp.MessageTypeError, "Hermes: %v", err)
	} else if f, ok := result.(followed); ok {
		f.then()
	}
}

func (x *prompts) offerResults(sessionID string, ready []delegate.Status) {
	params := &lsp.ShowMessageRequestParams{
		Type:    lsp.MessageTypeInfo,
		Message: endedText(ready) + " Shall Hermes go on with the results?",
		Actions: []lsp.MessageActionItem{{Title: goOnTitle}, {Title: "Later"}},
	}
	var chosen lsp.MessageActionItem
	if err := x.editor.Choose(x.editor.Ctx, params, &chosen); err != nil || chosen.Title != goOnTitle {
		return
	}
	const text = "Go on with the results of the subagents."
	x.follow(x.prompting(sessionID, agent.Input{Text: text}, text, nil, false))
}
