package checkpoints

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/amount"
)

var (
	create  = extension.Command{Name: "checkpoint", Description: "Record the files as they are now", Hint: "a name", Order: 100}
	restore = extension.Command{
		Name: "rollback", Execute: "hermes.checkpoint.restore", VSCode: "hermes.rollback", Neovim: "rollback", Title: "Roll Back…",
		Description: "List checkpoints, or restore the files of one", Hint: "a number, and files if not all", Order: 110,
	}
)

// Table holds the rows of the command table.
var Table = []extension.Command{
	create,
	{Execute: "hermes.checkpoint.list", Description: "List the checkpoints of a session", Order: 101},
	{Execute: "hermes.checkpoint.diff", Description: "Compare files with a checkpoint", Order: 102},
	restore,
	{Execute: "hermes.checkpoint.changes", Neovim: "changes", Description: "List the changes of all sessions of the workspace that you have neither accepted nor reverted", Order: 111},
	{Execute: "hermes.checkpoint.accept", Description: "Accept changes, so that they are not listed", Order: 112},
}

// Commands returns /checkpoint and /rollback.
func (x *Instance) Commands() []extension.Command {
	return []extension.Command{create.With(x.create), restore.With(x.rollback)}
}

func (x *Instance) create(ctx context.Context, name string) (string, error) {
	c, err := x.Create(ctx, name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Kept as “%s”. `/rollback` lists what was kept.", c.Title), nil
}

// rollback lists checkpoints, or restores the checkpoint with this number or id.
func (x *Instance) rollback(ctx context.Context, args string) (string, error) {
	all, err := x.List(ctx)
	if err != nil {
		return "", err
	}
	words := strings.Fields(args)
	if len(words) == 0 {
		return x.listed(all), nil
	}
	id := words[0]
	if n, err := strconv.Atoi(id); err == nil && n >= 1 && n <= len(all) {
		id = all[n-1].ID
	}
	r, err := x.Restore(ctx, id, words[1:])
	if err != nil {
		return "", err
	}
	return x.text(r), nil
}

// RestoreSince restores all files as they were when a prompt came. It returns a
// report, as Markdown.
func (x *Instance) RestoreSince(ctx context.Context, prompt time.Time) (done string, err error) {
	all, err := x.List(ctx)
	if err != nil {
		return "", err
	}
	oldest := -1 // the oldest since the prompt
	for i, c := range all {
		if !c.CreatedAt.Before(prompt) {
			oldest = i
		}
	}
	if missed := x.missedText(x.keeper.Missed(prompt, nil)); oldest < 0 && missed != "" {
		return missed, nil
	}
	if oldest < 0 {
		return "No files had been changed.", nil
	}
	r, err := x.Restore(ctx, all[oldest].ID, nil)
	if err != nil && len(r.Restored)+len(r.Kept) > 0 {
		err = fmt.Errorf("%s %w", x.text(r), err) // a part is done
	}
	if err != nil {
		return "", err
	}
	x.Workspace.Forget(x.paths(r.Restored)...)
	return x.text(r), nil
}

// text reports the outcome of a restore, as Markdown.
func (x *Instance) text(r Restored) string {
	missed := map[string]bool{}
	for _, m := range r.Missed {
		for _, name := range x.names(m.Files) {
			missed[name] = true
		}
	}
	kept := map[string][]string{} // by reason
	for i, name := range r.Kept {
		if !missed[name] {
			kept[r.Why[i]] = append(kept[r.Why[i]], name)
		}
	}
	text := "No file had to be restored."
	if len(r.Restored) > 0 {
		text = "Restored: " + extension.CodeList(r.Restored) + "."
	}
	if len(kept) > 0 {
		text += " " + keptText(kept)
	}
	if unsaved := UnsavedText(r.Unsaved, extension.CodeList); unsaved != "" {
		text += " " + unsaved
	}
	if missed := x.missedText(r.Missed); missed != "" {
		text += " " + missed
	}
	return text
}

// keptText lists kept files by the reason.
func keptText(kept map[string][]string) string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(kept)) {
		parts = append(parts, "Kept "+extension.CodeList(kept[why])+": "+strings.TrimSuffix(why, ".")+".")
	}
	return strings.Join(parts, " ")
}

func (x *Instance) listed(all []Checkpoint) string {
	missed := x.missedText(x.keeper.Missed(time.Time{}, nil))
	switch {
	case len(all) == 0 && missed != "":
		return "There are no checkpoints. " + missed
	case len(all) == 0:
		return "There are no checkpoints yet: nothing was changed."
	}
	var b strings.Builder
	for i, c := range all {
		changed := "nothing changed after it"
		if n := len(c.Files); n > 0 {
			changed = extension.CodeList(c.Files[:min(n, 5)])
			if n > 5 {
				changed += fmt.Sprintf(" and %d more", n-5)
			}
		}
		fmt.Fprintf(&b, "%d. %s, “%s”: %s\n", i+1, amount.Ago(c.CreatedAt), c.Title, changed)
	}
	b.WriteString("\n`/rollback 1` brings all files back as they were at the first of these; name files after the number for those alone.")
	if missed != "" {
		b.WriteString("\n\n" + missed)
	}
	return b.String()
}
