// Package feedback offers to save a successful approach as a skill: a line below the answer of a
// hard turn, at most once a day. The user answers with /feedback, or ignores it.
package feedback

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Settings is the section feedback of config.yaml.
type Settings struct {
	Ask string `json:"ask" enum:"hard,never" doc:"When a line below the answer offers to keep what worked as a skill. hard: after a turn with many calls, at most once a day."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "feedback", Doc: "Offers to keep what worked as a skill.", Defaults: Settings{Ask: "hard"}}
}

// New returns the extension. If the host shows no offers, /feedback works without an offer.
func New(home string) extension.Extension { return feedback{home} }

type feedback struct{ home string }

func (feedback) Name() string { return "feedback" }

func (e feedback) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{feedback: e, session: s}, nil
}

type instance struct {
	feedback
	session *extension.Session

	mu            sync.Mutex
	calls, failed int  // of the turn, and of the turns interrupted by the user's prompts
	steered       bool // the user has interrupted it by a prompt
	running       bool // no end of the turn was seen yet
	offered       bool // in this session
}

// A turn is hard if it has at least hardCalls calls, and either hardFailed of them failed or the
// user has steered it.
const (
	hardCalls  = 15
	hardFailed = 3
)

// Close does nothing.
func (*instance) Close(context.Context) error { return nil }

// Hooks counts the calls of a turn, and offers at its end. If the host shows no offers, there are none.
func (x *instance) Hooks() (h extension.Hooks) {
	if x.session.Offers {
		h.Events = []extension.Handlers{{Limit: extension.NoLimit, Turn: x.begin, PostToolCall: x.called, AfterTurn: x.afterTurn}}
	}
	return h
}

// begin starts to count. If the turn before has not ended, this prompt steers its work.
func (x *instance) begin(context.Context, extension.Prompt) (ended func(), err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.steered = x.running && x.calls > 0; !x.steered {
		x.calls, x.failed = 0, 0
	}
	x.running = true
	return nil, nil
}

func (x *instance) called(_ context.Context, c extension.ToolCall, r tools.Result) (note string, err error) {
	if c.Kind != extension.Main {
		return "", nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls++
	var out struct {
		ExitCode int `json:"exit_code"`
	}
	if r.IsError || c.Tool.RunsCommands && json.Unmarshal(r.JSON, &out) == nil && out.ExitCode != 0 {
		x.failed++
	}
	return "", nil
}

// Offer is the line below the answer of a hard turn. Chats with buttons show buttons instead.
const Offer = "Worked: keep it as a skill · Worked · Had problems · Do not ask again (`/feedback 1` to `/feedback 4`)"

// Labels are the choices of /feedback 1 to 4.
var Labels = []string{"Worked: keep it as a skill", "Worked", "Had problems", "Do not ask again"}

func (x *instance) afterTurn(ctx context.Context, t extension.TurnEnd) (d extension.TurnDecision, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	hard := x.calls >= hardCalls && (x.failed >= hardFailed || x.steered)
	x.running = false
	if !hard || x.offered || t.Stop != "end_turn" || t.Waiting {
		return d, nil
	}
	var s Settings
	if err := x.session.Config(&s); err != nil || s.Ask == "never" {
		return d, err
	}
	now := time.Now()
	var offers bool
	err = change(ctx, x.home, func(r *record) {
		if offers = r.mayOffer(now); offers {
			r.Offered, r.Ignored = now.Unix(), r.Ignored+1
		}
	})
	if offers && err == nil {
		x.offered = true
		d.Notice = Offer
		for i, label := range Labels {
			d.Offers = append(d.Offers, tools.Offer{Label: label, Prompt: fmt.Sprintf("/feedback %d", i+1)})
		}
	}
	return d, err
}

var command = extension.Command{
	Name: "feedback", Execute: "hermes.feedback", Description: "Say how the work went, or keep it as a skill", Hint: "1 to 4, or on", Order: 68,
}

// Table holds the rows of the command table.
var Table = []extension.Command{command}

// Commands returns /feedback.
func (x *instance) Commands() []extension.Command {
	c := command.With(x.run)
	c.Prompt = func(args string) string {
		if args != "1" {
			return ""
		}
		return keep
	}
	return []extension.Command{c}
}

// keep is the prompt that makes the model write a skill.
const keep = "Keep what worked in this session as a skill, so that the next task of this kind needs fewer attempts. Look with skill_view first whether a skill fits that " +
	"you can extend; else create one with skill_manage, named after the kind of task. Write the steps that worked, with exact commands, how to check the result, and the " +
	"mistakes to avoid. Leave out what is true of this task only, failures of this machine or the network, and secrets."

const choices = "1. It worked: keep it as a skill.\n2. It worked.\n3. It had problems.\n4. Do not ask again.\n\n`/feedback NUMBER` answers."

// run is /feedback.
func (x *instance) run(ctx context.Context, args string) (answer string, err error) {
	var edit func(*record)
	switch strings.ToLower(args) {
	case "":
		return choices, nil
	case "1":
		edit, answer = func(r *record) { r.Ignored = 0 }, "The agent writes a skill. You approve it before it is stored."
	case "2":
		edit, answer = func(r *record) { r.Ignored, r.Worked = 0, r.Worked+1 }, "Thank you."
	case "3":
		edit, answer = func(r *record) { r.Ignored, r.Problems = 0, r.Problems+1 }, "Thank you. Say what went wrong, and the agent continues."
	case "4":
		edit, answer = func(r *record) { r.Off = true }, "You are not asked again. `/feedback on` turns the offers on."
	case "on":
		edit, answer = func(r *record) { r.Off, r.Ignored = false, 0 }, "After a hard turn, a line offers to keep what worked, at most once a day."
	default:
		return "", extension.BadInput("feedback", "%q is none of 1, 2, 3, 4 and on", args)
	}
	if err := change(ctx, x.home, edit); err != nil {
		return "", fmt.Errorf("storing the answer: %w", err)
	}
	return answer, nil
}
