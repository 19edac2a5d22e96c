// Package goal continues turns until a goal of the user is reached. /goal TEXT sets it.
// After each turn, a request to the session's model judges whether it is reached. If not,
// the turn continues, at most 20 times. Without a goal, the package does nothing.
package goal

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed judge.md
var judgeText string

const (
	maxContinued = 20              // of a single turn
	judgeLimit   = 3 * time.Minute // per judgment
	maxCalls     = 12              // shown to the judge
	maxCallText  = 600             // bytes of the arguments and of the result of each
	maxAnswer    = 8000            // last bytes of the answer, shown to the judge
	maxGoal      = 8000            // bytes
	stateKey     = "goal"
)

// New returns the extension.
func New() extension.Extension { return goals{} }

type goals struct{}

func (goals) Name() string { return "goal" }

func (goals) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &Instance{session: s, loaded: s.New}, nil
}

// Instance is the goal of a session.
type Instance struct {
	session *extension.Session

	mu     sync.Mutex
	loaded bool   // text was read from the store, or is newer
	text   string // empty: there is no goal
	unsent bool   // text is not stored yet
	last   string // the last judgment; empty: none
	calls  []string
}

// Close does nothing.
func (*Instance) Close(context.Context) error { return nil }

var command = extension.Command{
	Name: "goal", VSCode: "hermes.goal", Neovim: "goal", Title: "Set Goal…",
	Description: "Show or set a goal; turns continue until it is reached", Hint: "a goal, or clear", Order: 65,
}

// Table holds the rows of the command table.
var Table = []extension.Command{command}

// Commands returns /goal.
func (x *Instance) Commands() []extension.Command {
	c := command.With(x.run)
	c.Prompt = func(args string) string {
		if args == "" || isClear(args) {
			return ""
		}
		return args
	}
	return []extension.Command{c}
}

func isClear(args string) bool { return strings.EqualFold(args, "clear") }

// run is /goal.
func (x *Instance) run(ctx context.Context, args string) (string, error) {
	now, last, err := x.current(ctx)
	switch {
	case err != nil:
		return "", err
	case args == "" && now == "":
		return "There is no goal. `/goal TEXT` sets one: turns then continue until it is reached, at most 20 times.", nil
	case args == "":
		text := "The goal:\n\n" + markup.Quote(now)
		if last != "" {
			text += "\n\nThe last judgment: " + last
		}
		return text + "\n\n`/goal clear` removes it.", nil
	case isClear(args) && now == "":
		return "There is no goal.", nil
	case isClear(args):
		if err := x.set(ctx, ""); err != nil {
			return "", err
		}
		return "The goal is removed. Turns end as usual.", nil
	case len(args) > maxGoal:
		return "", extension.BadInput("goal", "the goal has %d bytes; at most %d are allowed, and nothing was changed", len(args), maxGoal)
	}
	if err := x.set(ctx, args); err != nil {
		return "", err
	}
	return fmt.Sprintf("The goal is set. The turn continues until it is reached, at most %d times. A cancel stops it; `/goal clear` removes the goal.", maxContinued), nil
}

// current returns the goal and the last judgment. If there is no goal, text is empty.
func (x *Instance) current(ctx context.Context) (text, last string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.loaded {
		if _, err := x.session.State.Load(ctx, stateKey, &x.text); err != nil {
			return "", "", fmt.Errorf("reading the goal: %w", err)
		}
		x.loaded = true
	}
	return x.text, x.last, nil
}

// set replaces the goal. An unstored session stores it with its first request.
func (x *Instance) set(ctx context.Context, text string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	stored := !x.session.New || x.text != "" && !x.unsent
	x.text, x.last, x.loaded, x.calls = text, "", true, nil
	err := x.save(ctx)
	if err != nil && !stored {
		return nil
	}
	return err
}

// save stores the goal. The caller holds the lock.
func (x *Instance) save(ctx context.Context) error {
	var value any
	if x.text != "" {
		value = x.text
	}
	err := x.session.State.Save(ctx, stateKey, value)
	x.unsent = err != nil
	if err != nil {
		return fmt.Errorf("storing the goal: %w", err)
	}
	return nil
}

// status is the line of /status.
func (x *Instance) status(ctx context.Context) (name, text string) {
	now, last, err := x.current(ctx)
	if err != nil || now == "" {
		return "", ""
	}
	text = shortened(strings.Join(strings.Fields(now), " "), 200)
	if last != "" {
		text += " (" + last + ")"
	}
	return "Goal", text
}

// Hooks judges turns, and collects the calls for the judge.
func (x *Instance) Hooks() extension.Hooks {
	return extension.Hooks{Status: x.status, Events: []extension.Handlers{
		{Limit: extension.NoLimit, Turn: x.begin, PostToolCall: x.called},
		{Limit: judgeLimit, AfterTurn: x.afterTurn, PreCompress: x.beforeCompaction},
	}}
}

// Notices stores a goal set before the session was stored. It returns no notices.
func (x *Instance) Notices(ctx context.Context, when extension.When) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if when == extension.WithRequest && x.unsent {
		_ = x.save(ctx) // the next request tries again
	}
	return nil
}

func (x *Instance) begin(context.Context, extension.Prompt) (ended func(), err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls = nil
	return nil, nil
}

// beforeCompaction keeps the goal in the summary.
func (x *Instance) beforeCompaction(ctx context.Context, _ extension.Compression) (string, error) {
	now, _, err := x.current(ctx)
	if err != nil || now == "" {
		return "", err
	}
	return "### Goal\nThe user has set this goal. It is not reached yet:\n\n" + markup.Quote(now), nil
}

// called keeps a call of the session or its scripts for the judge.
func (x *Instance) called(ctx context.Context, c extension.ToolCall, r tools.Result) (string, error) {
	if now, _, err := x.current(ctx); err != nil || now == "" || c.SessionID != x.session.ID {
		return "", err
	}
	line := x.session.Redact(fmt.Sprintf("%s %s\n→ %s", c.Name, shortened(string(c.Args), maxCallText), shortened(string(r.JSON), maxCallText)))
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.calls = append(x.calls, line); len(x.calls) > maxCalls {
		x.calls = x.calls[1:]
	}
	return "", nil
}

// shortened cuts a text in the middle.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit/2], "") + " […] " + strings.ToValidUTF8(text[len(text)-limit/2:], "")
}

// judged are the stop reasons of judged turns.
var judged = map[string]bool{"end_turn": true, "max_turn_requests": true, "max_tokens": true}

func (x *Instance) afterTurn(ctx context.Context, t extension.TurnEnd) (d extension.TurnDecision, err error) {
	now, _, err := x.current(ctx)
	if err != nil || now == "" || t.Waiting || !judged[t.Stop] {
		return d, err
	}
	v, err := x.judge(ctx, now, t)
	if after, _, _ := x.current(ctx); after != now || ctx.Err() != nil {
		return d, nil // it was removed meanwhile, or the turn is canceled
	}
	if err != nil {
		d.Notice = fmt.Sprintf("The goal was not judged, and the turn ends: %v. The goal stays set.", err)
		return d, nil
	}
	switch v.Verdict {
	case reached:
		if err := x.set(ctx, ""); err != nil {
			return d, err
		}
		d.Notice = "The goal is reached: " + v.Reason
		return d, nil
	case needsUser:
		d.Notice = "The goal needs you: " + v.Reason + " The turn ends; the goal stays set."
	default:
		d.Notice = fmt.Sprintf("The goal is not reached (%d of %d): %s", t.Continued+1, maxContinued, v.Reason)
		d.Continue = fmt.Sprintf(continueText, now, v.Reason)
	}
	if t.Continued >= maxContinued && d.Continue != "" {
		d.Continue = ""
		d.Notice = fmt.Sprintf("The goal is not reached: %s The turn was continued %d times and ends. Your next prompt continues the work.", v.Reason, maxContinued)
	}
	x.mu.Lock()
	x.last = v.Reason
	x.mu.Unlock()
	return d, nil
}

const continueText = `The user has set a goal, and it is not reached yet. Continue the work.

Goal: %s

Missing: %s

If you cannot continue without the user, say what you need and end your turn.`

const (
	reached   = "reached"
	needsUser = "user"
)

// verdict is the judge's answer.
type verdict struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
}

func (x *Instance) judge(ctx context.Context, now string, t extension.TurnEnd) (v verdict, err error) {
	x.mu.Lock()
	calls := strings.Join(x.calls, "\n\n")
	x.mu.Unlock()
	answer := t.Answer
	if len(answer) > maxAnswer {
		answer = "[…] " + strings.ToValidUTF8(answer[len(answer)-maxAnswer:], "")
	}
	text, err := x.session.Complete(ctx, judgeText, fmt.Sprintf("# Goal\n\n%s\n\n# Last tool calls\n\n%s\n\n# Last answer\n\n%s", now, orNone(calls), orNone(answer)))
	if err != nil {
		return v, err
	}
	return readVerdict(text)
}

func orNone(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(none)"
	}
	return text
}

var errUnreadable = errors.New("the judgment is not readable")

// readVerdict reads a judgment. Models may write text around the object.
func readVerdict(text string) (v verdict, err error) {
	for at := strings.IndexByte(text, '{'); at >= 0; {
		if json.NewDecoder(strings.NewReader(text[at:])).Decode(&v) == nil && (v.Verdict == reached || v.Verdict == "continue" || v.Verdict == needsUser) {
			v.Reason = sentence(v.Reason)
			return v, nil
		}
		next := strings.IndexByte(text[at+1:], '{')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return verdict{}, errUnreadable
}

// sentence returns a reason on a single line, ending with a period.
func sentence(text string) string {
	text = shortened(strings.Join(strings.Fields(tools.WithoutControls(text)), " "), 500)
	switch {
	case text == "":
		return "No reason was given."
	case strings.ContainsAny(text[len(text)-1:], ".!?"):
		return text
	}
	return text + "."
}
