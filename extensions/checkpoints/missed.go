package checkpoints

import (
	"context"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
)

// keyMissed is the key of the changes without a checkpoint, in the state of the session.
const keyMissed = "missed"

// Missed stores the changes without a checkpoint in the state of their session.
func Missed(state extension.State) checkpoint.Log { return missedLog{state} }

type missedLog struct{ extension.State }

func (l missedLog) LoadMissed() (all []checkpoint.Missed) {
	_, _ = l.Load(context.Background(), keyMissed, &all) // else a restore does not name them
	return all
}

func (l missedLog) SaveMissed(all []checkpoint.Missed) {
	_ = l.Save(context.Background(), keyMissed, all) // the disk can be full for it, too; then this process alone knows them
}

// missedText lists the changes that cannot be undone, with the reason. If there are none, it
// returns "".
func (x *Instance) missedText(all []checkpoint.Missed) string {
	var parts, reasons []string
	commands := false
	for _, m := range all {
		for _, name := range x.names(m.Files) {
			if !slices.Contains(parts, name) {
				parts = append(parts, name)
			}
		}
		commands = commands || m.Commands
		if !slices.Contains(reasons, m.Why) {
			reasons = append(reasons, m.Why)
		}
	}
	var what []string
	if len(parts) > 0 {
		what = append(what, extension.CodeList(parts))
	}
	if commands {
		what = append(what, "what commands have changed")
	}
	if len(what) == 0 {
		return ""
	}
	return "Cannot be undone, and left as it is: " + strings.Join(what, ", and ") + ". There is no checkpoint of it: " + strings.Join(reasons, "; ") + "."
}
