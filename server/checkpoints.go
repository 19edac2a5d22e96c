package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Checkpoint is the state before a turn that changed files, or one that was named.
type Checkpoint struct {
	ID        string
	CreatedAt time.Time
	Title     string
	Files     []string // what was changed since then, up to the next checkpoint; relative to the working directory where below it
	Restore   bool     // made by a restore, of the state that it replaced
}

// Restored says what a restore has done. Paths are as in [Checkpoint.Files].
type Restored struct {
	Restored []string // what was brought back
	Kept     []string // left as it is, because somebody else has changed it since, or it cannot be had
	Why      []string // for each that was kept
}

var errNoCheckpoints = errors.New("there are no checkpoints: checkpoints.enabled is off")

// newCheckpoints makes the keeper of a session's checkpoints; nil: they are off.
func (x *Session) newCheckpoints(conf *config.Loaded) *checkpoint.Keeper {
	if !conf.Checkpoints.Enabled {
		return nil
	}
	k := x.svc.checkpoints.Keeper(checkpoint.Config{
		Session: x.id, Files: x.ws, Limits: x.checkpointLimits,
		Confine: func(ctx context.Context, c *proc.Cmd, reads ...string) error {
			return x.sandbox.ConfineOwn(ctx, c, sandbox.Own{Reads: reads})
		},
		Busy: func() bool { return x.processes.Busy() },
		Tell: func(text string) { x.host.Sink(x.id).Event(agent.Notice{Text: text}) },
	})
	x.ws.Journal = k.Journal
	return k
}

func (x *Session) checkpointLimits() checkpoint.Limits {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.conf.Checkpoints
	return checkpoint.Limits{Total: int64(c.MaxMB) << 20, File: int64(c.MaxFileMB) << 20}
}

// checkpointTool is the model's way to them, if there are any.
func (x *Session) checkpointTool() []tools.Tool {
	if x.checkpoints == nil {
		return nil
	}
	return []tools.Tool{tools.CheckpointTool()}
}

// checkpointed lets the keeper look at what a turn of a set of tools does.
func (x *Session) checkpointed(set *tools.Set) {
	if x.checkpoints != nil {
		set.Hook(tools.Checkpointed(x.checkpoints))
	}
}

// keepBefore begins a checkpoint for a turn; what it returns ends it.
func (x *Session) keepBefore(in agent.Input) (end func()) {
	if x.checkpoints == nil {
		return func() {}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(in.Text), "\n")
	if r := []rune(first); len(r) > 80 {
		first = string(r[:79]) + "…"
	}
	x.checkpoints.Begin(first)
	return x.checkpoints.End
}

// closeCheckpoints has what the last turn changed written down, within ctx.
func (x *Session) closeCheckpoints(ctx context.Context) error {
	if x.checkpoints == nil {
		return nil
	}
	return x.checkpoints.Close(ctx)
}

// Checkpoints lists the session's checkpoints, newest first.
func (x *Session) Checkpoints(ctx context.Context) ([]Checkpoint, error) {
	if x.checkpoints == nil {
		return nil, errNoCheckpoints
	}
	all, err := x.checkpoints.List(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Checkpoint, len(all))
	for i, c := range all {
		list[i] = x.checkpointOf(c)
	}
	return list, nil
}

// changedFiles are the files that were changed since the first checkpoint, those that
// were changed last at the end. If checkpoints are off, there are none.
func (x *Session) changedFiles(ctx context.Context) ([]string, error) {
	if x.checkpoints == nil {
		return nil, nil
	}
	all, err := x.checkpoints.List(ctx)
	var paths []string
	for _, c := range slices.Backward(all) { // the newest comes first
		paths = append(paths, c.Files...)
	}
	return paths, err
}

func (x *Session) checkpointOf(c checkpoint.Info) Checkpoint {
	return Checkpoint{ID: c.ID, CreatedAt: c.Created, Title: c.Title, Files: x.fileNames(c.Files), Restore: c.Restore}
}

// fileNames says paths as people do: relative to the working directory where below it.
func (x *Session) fileNames(paths []string) []string {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = x.ws.Name(p)
	}
	return names
}

// filePaths understands what [Session.fileNames] says.
func (x *Session) filePaths(names []string) (paths []string) {
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(x.ws.Folders()[0], filepath.FromSlash(name))
		} else if rel := x.ws.Name(name); !filepath.IsAbs(rel) { // spelled through a link, perhaps
			name = filepath.Join(x.ws.Folders()[0], filepath.FromSlash(rel))
		}
		paths = append(paths, filepath.Clean(name))
	}
	return paths
}

// CheckpointDiff is the change from a checkpoint to now, as git apply takes it.
func (x *Session) CheckpointDiff(ctx context.Context, id string, files []string) (string, error) {
	if x.checkpoints == nil {
		return "", errNoCheckpoints
	}
	text, err := x.checkpoints.Diff(ctx, id, x.filePaths(files))
	return text, checkpointError(err)
}

func checkpointError(err error) error {
	switch {
	case errors.Is(err, checkpoint.ErrUnknown):
		return badInput("checkpointId", "%v in this session", err)
	case errors.Is(err, checkpoint.ErrUnchanged):
		return badInput("files", "%v", err)
	}
	return err
}

// CheckpointFile is one file as it was at a checkpoint; nil: there was none.
func (x *Session) CheckpointFile(ctx context.Context, id, path string) (*string, error) {
	if x.checkpoints == nil {
		return nil, errNoCheckpoints
	}
	if path == "" {
		return nil, badInput("path", "a file is required")
	}
	text, err := x.checkpoints.File(ctx, id, x.filePaths([]string{path})[0])
	if err != nil || text == nil {
		return nil, checkpointError(err)
	}
	said := string(text)
	return &said, nil
}

// NameCheckpoint keeps the state as it is now under a title.
func (x *Session) NameCheckpoint(ctx context.Context, title string) (Checkpoint, error) {
	if x.checkpoints == nil {
		return Checkpoint{}, errNoCheckpoints
	}
	if title = strings.TrimSpace(title); title == "" {
		title = "Checkpoint"
	}
	made, err := x.checkpoints.Name(ctx, title)
	return x.checkpointOf(made), err
}

// Restore brings back files as they were at a checkpoint: all that a turn has changed
// since, or those of them that are named; a folder stands for what is in it. What
// somebody else has changed since is kept; if it was named, the host's user is asked
// about it. It is refused with [ErrRunning] while a turn runs.
func (x *Session) Restore(ctx context.Context, id string, files []string) (Restored, error) {
	return x.restore(ctx, id, files, func(ctx context.Context, kept []string) bool {
		return len(files) > 0 && x.mayOverwrite(ctx, kept)
	})
}

// RestoreAll is [Session.Restore] for a user who has said already that what somebody
// else has changed is to be overwritten.
func (x *Session) RestoreAll(ctx context.Context, id string, files []string) (Restored, error) {
	return x.restore(ctx, id, files, func(context.Context, []string) bool { return true })
}

func (x *Session) restore(ctx context.Context, id string, files []string, overwrite func(ctx context.Context, kept []string) bool) (r Restored, err error) {
	if x.checkpoints == nil {
		return r, errNoCheckpoints
	}
	t, err := x.quiet(func(ctx context.Context) (agent.StopReason, error) {
		r, err = x.restoreNow(ctx, id, x.filePaths(files), overwrite)
		return "", err
	})
	if err != nil {
		return r, err
	}
	stop, err := t.Run(ctx)
	if err == nil && stop == agent.Cancelled {
		err = context.Canceled
	}
	return r, err
}

func (x *Session) restoreNow(ctx context.Context, id string, files []string, overwrite func(context.Context, []string) bool) (Restored, error) {
	out, err := x.checkpoints.Restore(ctx, id, checkpoint.Choice{Files: files})
	if err == nil && len(out.Kept) > 0 {
		out, err = x.restoreKept(ctx, id, out, overwrite)
	}
	var r Restored
	r.Restored = x.fileNames(out.Restored)
	for _, k := range out.Kept {
		r.Kept, r.Why = append(r.Kept, x.ws.Name(k.Path)), append(r.Why, k.Why)
	}
	if len(r.Restored) > 0 {
		x.mu.Lock()
		x.wentBack = append(x.wentBack, r.Restored...)
		x.mu.Unlock()
	}
	return r, checkpointError(err)
}

// restoreKept brings back what was kept after all, if that is wanted.
func (x *Session) restoreKept(ctx context.Context, id string, out checkpoint.Outcome, overwrite func(context.Context, []string) bool) (checkpoint.Outcome, error) {
	var changed []string
	for _, k := range out.Kept {
		if k.Others {
			changed = append(changed, k.Path)
		}
	}
	if len(changed) == 0 || !overwrite(ctx, x.fileNames(changed)) {
		return out, nil
	}
	more, err := x.checkpoints.Restore(ctx, id, checkpoint.Choice{Files: changed, Force: func(string) bool { return true }})
	out.Kept = append(slices.DeleteFunc(out.Kept, func(k checkpoint.Kept) bool { return k.Others }), more.Kept...)
	out.Restored = append(out.Restored, more.Restored...)
	return out, err
}

// mayOverwrite asks the host's user.
func (x *Session) mayOverwrite(ctx context.Context, kept []string) bool {
	x.mu.Lock()
	limit := time.Duration(x.conf.Approvals.Timeout) * time.Second
	x.mu.Unlock()
	ctx, stop := context.WithTimeout(ctx, max(limit, time.Second))
	defer stop()
	decision, err := x.host.AskPermission(ctx, tools.Question{
		SessionID: x.id, Kind: tools.KindEdit, Call: tools.Call{ID: "restore", Name: "restore", Args: []byte("{}")},
		Title:  "Overwrite " + strings.Join(kept, ", "),
		Reason: "overwrites what was changed there since, by you or somebody else; what is there now stays in a checkpoint of its own",
	})
	return err == nil && decision.Allows()
}

// newsOfRestores is what the model has to know of files that a person has brought back.
func (x *Session) newsOfRestores() []string {
	x.mu.Lock()
	files := x.wentBack
	x.wentBack = nil
	x.mu.Unlock()
	if len(files) == 0 {
		return nil
	}
	slices.Sort(files)
	files = slices.Compact(files)
	const most = 50
	text := "The user has gone back to a checkpoint: these files are again as they were before you changed them: " + strings.Join(files[:min(len(files), most)], ", ")
	if len(files) > most {
		text += fmt.Sprintf(" and %d more", len(files)-most)
	}
	return []string{text + ". Read them again before you rely on them."}
}
