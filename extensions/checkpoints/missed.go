package checkpoints

import (
	"context"
	"encoding/json"
	"maps"
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
	_ = l.Save(context.Background(), keyMissed, fitting(all)) // the disk can be full for it, too; then this process alone knows them
}

// mostStored limits the bytes of the stored changes. A value of a session's state has a limit of
// 64 KiB.
const mostStored = 60 << 10

// fitting returns the newest of the changes that fit in mostStored bytes. If the newest alone do not
// fit, it leaves out files.
func fitting(all []checkpoint.Missed) []checkpoint.Missed {
	for len(all) > 0 {
		data, err := json.Marshal(all)
		switch last := &all[len(all)-1]; {
		case err != nil || len(data) <= mostStored:
			return all
		case len(all) > 1:
			all = all[1:]
		case len(last.Files) == 0:
			return nil
		default:
			last.Files = last.Files[:len(last.Files)/2]
		}
	}
	return all
}

// WaitingMissed is changes of a session without a checkpoint that the user has not accepted. Files
// are as in [Checkpoint.Files].
type WaitingMissed struct {
	checkpoint.Missed
	SessionID string
}

// WaitingMissed lists the changes without a checkpoint of all sessions of the workspace that wait,
// newest first.
func (x *Instance) WaitingMissed(ctx context.Context) (list []WaitingMissed, err error) {
	if x.keeper == nil {
		return nil, errOff
	}
	folders := x.Workspace.Folders()
	sessions := map[string][]checkpoint.Missed{}
	for _, folder := range folders {
		values, _ := x.States(ctx, folder, keyMissed) // without the store, this process knows its own
		for id, value := range values {
			var all []checkpoint.Missed
			if json.Unmarshal(value, &all) == nil { // else a later version has written it
				sessions[id] = all
			}
		}
	}
	maps.Copy(sessions, x.Store.MissedOf(folders)) // they know what could not be stored
	for id, all := range sessions {
		for _, m := range all {
			if m.ID != "" && !m.Accepted {
				m.Files = x.names(m.Files)
				list = append(list, WaitingMissed{m, id})
			}
		}
	}
	slices.SortFunc(list, func(a, b WaitingMissed) int { return strings.Compare(b.ID, a.ID) })
	return list, nil
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
