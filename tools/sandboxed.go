package tools

import (
	"context"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools/approval"
)

// Places are those of the workspace that run or configure something by themselves,
// as they were before a command.
type Places struct{ watch *sandbox.Watch }

// WatchPlaces looks at them before a command that box confines. If a server was killed
// before it could review its commands, WatchPlaces asks the user about their changes first.
// [Places.Settle] follows.
func WatchPlaces(ctx context.Context, env *Env, call Call, box *sandbox.Box) Places {
	p := Places{box.Watch()}
	if p.watch.Left() {
		if note := p.review(ctx, env, call, "a command of a server that was killed "); note != "" {
			tell(env, call, note)
		}
	}
	return p
}

// Settle looks again when the command has ended. Changes that the user has not approved are
// removed. It returns text for the model's note, nearly always none.
func (p Places) Settle(ctx context.Context, env *Env, call Call) string {
	defer p.watch.End()
	return p.review(ctx, env, call, "")
}

// review asks about what was changed and not reviewed yet. by is who did it, if that is not
// the call.
func (p Places) review(ctx context.Context, env *Env, call Call, by string) string {
	changes, done := p.watch.Changes()
	defer done()
	var removed, failed []string
	for _, c := range changes {
		if c.Asks && p.approved(ctx, env, call, c, by) {
			c.Keep()
			continue
		}
		if err := c.Remove(ctx); err != nil {
			failed = append(failed, approval.Escape(c.What)+" ("+err.Error()+")")
			continue
		}
		removed = append(removed, approval.Escape(c.What))
	}
	var notes []string
	if len(removed) > 0 {
		notes = append(notes, "removed, because commands may not leave behind what runs by itself: "+strings.Join(removed, ", ")+
			"; if it is really wanted, tell the user what to change")
	}
	if len(failed) > 0 {
		text := "this was denied and could not be removed: " + strings.Join(failed, ", ")
		tell(env, call, text+". Remove it by hand; until then, no command runs")
		notes = append(notes, text+"; tell the user. No command runs until it is gone")
	}
	return strings.Join(notes, "; ")
}

// tell tells the user, where there is a way.
func tell(env *Env, call Call, text string) {
	if env.Progress != nil {
		env.Progress(Progress{CallID: call.ID, Message: text})
	}
	env.Sandbox.Tell(text)
}

// approved asks the user whether a change may stay.
func (p Places) approved(ctx context.Context, env *Env, call Call, c sandbox.Change, by string) bool {
	if env.Gate == nil || ctx.Err() != nil {
		return false
	}
	verdict := approval.Verdict{
		Level: approval.Asks, EveryMode: true, Keys: []string{approval.Escape(c.Key)},
		Reason: by + "has left behind " + c.What,
	}
	return env.Gate.Check(ctx, env, call, KindEdit, "keep "+c.What+" in "+c.Path, verdict) == nil
}

// openingOf returns what the sandbox opens for a command line that was judged.
func openingOf(v approval.Verdict) sandbox.Opening {
	o := sandbox.Opening{Open: v.Opens, Settings: v.Settings, Git: onlyGit(v.Commands)}
	for _, command := range v.Commands {
		if path, ok := strings.CutPrefix(command, "write "); ok {
			o.Writes = append(o.Writes, path)
		}
	}
	return o
}

// gitTakes are commands of git that put files of a repository into the workspace, and
// besideGit programs that write nothing in the same line.
var (
	gitTakes = strings.Fields("add am apply branch checkout cherry-pick clean clone commit config diff fetch init log merge mv pull push rebase " +
		"remote reset restore revert rev-parse rm show stash status submodule switch tag worktree")
	besideGit = strings.Fields("cd pwd echo true ls cat head tail")
)

// onlyGit reports whether a line runs git, and nothing else that writes files.
func onlyGit(commands []string) bool {
	found := false
	for _, command := range commands {
		words := strings.Fields(command)
		switch {
		case len(words) > 1 && words[0] == "git" && slices.Contains(gitTakes, words[1]):
			found = true
		case len(words) > 2 && words[0] == "git" && (words[1] == "-C" || words[1] == "--no-pager"): // the verb stands in a line of its own
		case len(words) > 0 && (words[0] == "write" || slices.Contains(besideGit, words[0])): // a write that is seen was judged
		default:
			return false
		}
	}
	return found
}
