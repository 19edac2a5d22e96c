package tools

import (
	"context"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools/approval"
)

// Places are those of the workspace that run or configure something by themselves,
// as they were before a command.
type Places struct{ watch *sandbox.Watch }

// WatchPlaces looks at them before a command that box confines.
func WatchPlaces(box *sandbox.Box) Places { return Places{box.Watch()} }

// Settle looks again when the command has ended. What it changed is undone, unless
// it is something that the user can agree to, and does. The answer is words for the
// model's note, nearly always none.
func (p Places) Settle(ctx context.Context, env *Env, call Call) string {
	var undone, failed []string
	for _, c := range p.watch.Changes() {
		if c.Asks && p.agreed(ctx, env, call, c) {
			continue
		}
		if err := c.Undo(); err != nil {
			failed = append(failed, approval.Escape(c.What)+" ("+err.Error()+")")
			continue
		}
		undone = append(undone, approval.Escape(c.What))
	}
	var notes []string
	if len(undone) > 0 {
		note := "undone, because commands may not leave behind what runs by itself: " + strings.Join(undone, ", ")
		if kept := p.watch.Kept(); kept != "" {
			note += " (kept in " + kept + ")"
		}
		notes = append(notes, note+"; if it is really wanted, tell the user what to change")
	}
	if len(failed) > 0 {
		notes = append(notes, "this runs by itself and could not be undone, so tell the user: "+strings.Join(failed, ", "))
	}
	return strings.Join(notes, "; ")
}

// agreed asks the user whether a change may stand.
func (p Places) agreed(ctx context.Context, env *Env, call Call, c sandbox.Change) bool {
	if env.Gate == nil || ctx.Err() != nil {
		return false
	}
	verdict := approval.Verdict{
		Level: approval.Asks, EveryMode: true, Keys: []string{approval.Escape(c.Key)},
		Reason: "has left behind " + c.What,
	}
	return env.Gate.Check(ctx, env, call, KindEdit, "keep "+c.What+" in "+c.Path, verdict) == nil
}
