// Package checkpoints records the state of the workspace before each turn. The user and the model
// can compare files with it and restore them.
package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// Toolset is the toolset of the tools.
const Toolset = "checkpoint"

// Options are the parts of the process and of the session's core used by the extension.
type Options struct {
	Store     *checkpoint.Store
	Workspace *workspace.Workspace
	Remote    bool // commands run on another machine
	// Exclusive runs work while no turn runs; new prompts wait for its end. If a turn runs, it
	// returns an error.
	Exclusive func(ctx context.Context, work func(context.Context) error) error
	// States returns a value of this extension, as JSON, of each stored session of a folder that
	// has it, by session.
	States func(ctx context.Context, cwd, key string) (map[string][]byte, error)
}

// Config is the configuration section.
type Config struct {
	Enabled bool
	Limits  checkpoint.Limits
}

// New returns the extension.
func New(o Options) extension.Extension { return checkpoints{o} }

type checkpoints struct{ Options }

// Name is the name of the extension.
const Name = "checkpoints"

func (checkpoints) Name() string { return Name }

func (e checkpoints) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	x := &Instance{Options: e.Options, session: s}
	var c Config
	if err := s.Config(&c); err != nil {
		return nil, err
	}
	if c.Enabled {
		x.keeper = e.Store.Keeper(checkpoint.Config{
			Session: s.ID, Files: e.Workspace, Limits: x.limits, Busy: x.busy, Report: s.Show, Log: Missed(s.State),
			Confine: func(ctx context.Context, c *proc.Cmd, reads ...string) error { // for our own git
				return s.Bounds.Sandbox.ConfineOwn(ctx, c, sandbox.Own{Reads: reads})
			},
		})
		e.Workspace.Journal, e.Workspace.Earlier = x.keeper.Journal, x.keeper.Earlier
		x.unsubscribe = e.Workspace.OnSave(func(path string, s workspace.Save) {
			x.keeper.Saved(checkpoint.Saved{Path: path, Base: s.Base, Text: s.Text})
		})
	}
	return x, nil
}

// busy reports whether a command in the background runs.
func (x *Instance) busy() bool {
	commands, ok := x.session.Extensions().Shell()
	return ok && commands.Busy()
}

var _ extension.Changes = (*Instance)(nil)

// Instance are the checkpoints of a session.
type Instance struct {
	Options
	session *extension.Session
	keeper  *checkpoint.Keeper // nil: they are off

	unsubscribe func() // from saves of the editor

	mu       sync.Mutex
	restored []string // files restored by the user, for the model, if the session is not stored
}

// Checkpoint is the state before a turn with file changes, or a named checkpoint.
type Checkpoint struct {
	ID        string
	CreatedAt time.Time
	Title     string
	Files     []string // changed since, up to the next checkpoint; relative to the working directory where possible
	Restore   bool     // made by a restore, of the replaced state
}

// Restored is the outcome of a restore. Paths are as in [Checkpoint.Files].
type Restored struct {
	Restored []string
	Kept     []string            // stay as they are: changed by others since, or not stored
	Why      []string            // for each of Kept
	Others   []string            // of Kept: others may have changed them; a restore of them by name asks, and overwrites them
	Missed   []checkpoint.Missed // changes without a checkpoint
	Unsaved  []Unsaved           // are restored in the editor only
}

// Unsaved is a file with another text on the disk than in the editor.
type Unsaved struct{ Path, Why string } // Why the editor could not save it; "": it saves no edits

var errOff = errors.New("there are no checkpoints: checkpoints.enabled is off")

func (x *Instance) limits() checkpoint.Limits {
	var c Config
	_ = x.session.Config(&c) // Open has read it
	return c.Limits
}

// Close waits, within ctx, until the changes of the last turn are stored.
func (x *Instance) Close(ctx context.Context) error {
	if x.keeper == nil {
		return nil
	}
	x.unsubscribe()
	return x.keeper.Close(ctx)
}

// Tools returns the model's way to the checkpoints, if they are on.
func (x *Instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	if x.keeper == nil {
		return nil, nil
	}
	return []tools.Tool{CheckpointTool(x.keeper, x.session.Files, x.session.Redact)}, nil
}

// Derive lets a subagent use its parent's checkpoints.
func (x *Instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent || x.keeper == nil {
		return nil, nil
	}
	return derived{x, s.Files}, nil
}

type derived struct {
	parent *Instance
	files  tools.Files
}

func (derived) Close(context.Context) error { return nil }

func (d derived) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	return []tools.Tool{CheckpointTool(d.parent.keeper, d.files, d.parent.session.Redact)}, nil
}

// Hooks lets the parent's keeper know which calls may write anywhere.
func (d derived) Hooks() extension.Hooks {
	return extension.Hooks{Events: []extension.Handlers{{Limit: extension.NoLimit, PreToolCall: d.parent.beforeCall}}}
}

// Hooks begins a checkpoint with each turn, and lets the keeper know which calls may
// write anywhere.
func (x *Instance) Hooks() (h extension.Hooks) {
	if x.keeper != nil {
		h.Events = []extension.Handlers{{Limit: extension.NoLimit, PreToolCall: x.beforeCall, Turn: x.begin}}
	}
	return h
}

func (x *Instance) begin(_ context.Context, p extension.Prompt) (ended func(), err error) {
	first, _, _ := strings.Cut(strings.TrimSpace(p.Text), "\n")
	if r := []rune(first); len(r) > 80 {
		first = string(r[:79]) + "…"
	}
	x.keeper.Begin(first)
	return x.keeper.End, nil
}

// beforeCall notifies the keeper before a call runs a process with write access to any file. The
// workspace itself reports the writes of file tools.
func (x *Instance) beforeCall(ctx context.Context, c extension.ToolCall) (d extension.Decision, err error) {
	if !c.Tool.WritesAnywhere() || x.Remote && c.Tool.RunsCommands {
		return d, nil
	}
	d.Running = x.keeper.BeginCommand
	return d, nil
}

// Notices reports files restored by the user to the model.
func (x *Instance) Notices(ctx context.Context, when extension.When) []string {
	if when != extension.WithPrompt {
		return nil
	}
	files := x.takeRestored(ctx)
	if len(files) == 0 {
		return nil
	}
	slices.Sort(files)
	files = slices.Compact(files)
	const most = 50
	text := "The user has gone back to a checkpoint: your changes of these files are taken out: " + strings.Join(files[:min(len(files), most)], ", ")
	if len(files) > most {
		text += fmt.Sprintf(" and %d more", len(files)-most)
	}
	return []string{text + ". Read them again before you rely on them."}
}

// keyRestored is the key of the user's restored files in the stored session's state. The next
// prompt may be in another process.
const keyRestored = "restored"

// noteRestored records restored files for the next prompt. It keeps them in memory if the session
// is not stored.
func (x *Instance) noteRestored(ctx context.Context, files []string) {
	if len(files) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if noteRestored(ctx, x.session.State, files) != nil {
		x.restored = append(x.restored, files...)
	}
}

func noteRestored(ctx context.Context, state extension.State, files []string) error {
	var earlier []string
	if _, err := state.Load(ctx, keyRestored, &earlier); err != nil {
		return err
	}
	return state.Save(context.WithoutCancel(ctx), keyRestored, append(earlier, files...))
}

// NoteRestored records files restored by a program without a session. The next prompt reports them
// to the model.
func NoteRestored(ctx context.Context, state extension.State, ws *workspace.Workspace, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = ws.Name(p)
	}
	return noteRestored(ctx, state, names)
}

// takeRestored returns the noted files, and forgets them.
func (x *Instance) takeRestored(ctx context.Context) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	files := x.restored
	x.restored = nil
	var stored []string
	if found, err := x.session.State.Load(ctx, keyRestored, &stored); found && err == nil {
		files = append(files, stored...)
		_ = x.session.State.Save(ctx, keyRestored, nil) // if it fails, they are reported twice
	}
	return files
}

// List lists the checkpoints, newest first.
func (x *Instance) List(ctx context.Context) ([]Checkpoint, error) {
	if x.keeper == nil {
		return nil, errOff
	}
	all, err := x.keeper.List(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Checkpoint, len(all))
	for i, c := range all {
		list[i] = x.checkpoint(c)
	}
	return list, nil
}

// Waiting is the files changed by a session after a checkpoint, up to the next, and neither
// accepted nor reverted by the user.
type Waiting struct {
	Checkpoint
	SessionID string
}

// Waiting lists the waiting changes of all sessions of the workspace, newest first.
func (x *Instance) Waiting(ctx context.Context) ([]Waiting, error) {
	if x.keeper == nil {
		return nil, errOff
	}
	all, err := x.Store.Waiting(ctx, x.keeper.Config)
	if err != nil {
		return nil, err
	}
	list := make([]Waiting, len(all))
	for i, w := range all {
		list[i] = Waiting{x.checkpoint(w.Info), w.Session}
	}
	return list, nil
}

// Accept accepts the changes after a checkpoint, up to the next: in files, or all. It returns the
// files. The changes of a turn without a checkpoint are accepted as a whole.
func (x *Instance) Accept(_ context.Context, id string, files []string) ([]string, error) {
	if x.keeper == nil {
		return nil, errOff
	}
	paths, err := x.Store.Accept(x.session.ID, id, x.paths(files))
	if errors.Is(err, checkpoint.ErrUnknown) {
		paths, err = x.keeper.AcceptMissed(id)
	}
	return x.names(paths), inputError(err)
}

// Holder returns the workspace's session with a checkpoint. If id is empty, it returns the session
// with the newest checkpoint. If there is none, it returns "".
func (x *Instance) Holder(id string) (string, error) {
	if x.keeper == nil {
		return "", errOff
	}
	return x.Store.Holder(x.Workspace.Folders(), id)
}

func (x *Instance) checkpoint(c checkpoint.Info) Checkpoint {
	return Checkpoint{ID: c.ID, CreatedAt: c.Created, Title: c.Title, Files: x.names(c.Files), Restore: c.Restore}
}

// ChangedFiles returns the files changed since the first checkpoint, most recently changed last. If
// checkpoints are off, it returns none.
func (x *Instance) ChangedFiles(ctx context.Context) ([]string, error) {
	if x.keeper == nil {
		return nil, nil
	}
	all, err := x.keeper.List(ctx)
	var paths []string
	for _, c := range slices.Backward(all) { // the newest comes first
		paths = append(paths, c.Files...)
	}
	return paths, err
}

// ChangedSince returns the files changed in checkpoints begun at since or later. If checkpoints are
// off, it returns none.
func (x *Instance) ChangedSince(ctx context.Context, since time.Time) (paths []string, err error) {
	if x.keeper == nil {
		return nil, nil
	}
	all, err := x.keeper.List(ctx)
	for _, c := range all {
		if !c.Created.Before(since) {
			paths = append(paths, c.Files...)
		}
	}
	return paths, err
}

// names returns paths for users: relative to the working directory where possible.
func (x *Instance) names(paths []string) []string {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = x.Workspace.Name(p)
	}
	return names
}

// paths is the reverse of names.
func (x *Instance) paths(names []string) (paths []string) {
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(x.Workspace.Folders()[0], filepath.FromSlash(name))
		} else if rel := x.Workspace.Name(name); !filepath.IsAbs(rel) { // spelled through a link, perhaps
			name = filepath.Join(x.Workspace.Folders()[0], filepath.FromSlash(rel))
		}
		paths = append(paths, filepath.Clean(name))
	}
	return paths
}

// Diff is the change from a checkpoint to now, for git apply.
func (x *Instance) Diff(ctx context.Context, id string, files []string) (string, error) {
	if x.keeper == nil {
		return "", errOff
	}
	text, err := x.keeper.Diff(ctx, id, x.paths(files))
	return text, inputError(err)
}

func inputError(err error) error {
	switch {
	case errors.Is(err, checkpoint.ErrUnknown):
		return extension.BadInput("checkpointId", "%v in this session", err)
	case errors.Is(err, checkpoint.ErrUnchanged):
		return extension.BadInput("files", "%v", err)
	}
	return err
}

// File returns a file as it was at a checkpoint, and as the session has left it since. If it did not
// exist, the text is nil.
func (x *Instance) File(ctx context.Context, id, path string) (was, left *string, err error) {
	if x.keeper == nil {
		return nil, nil, errOff
	}
	if path == "" {
		return nil, nil, extension.BadInput("path", "a file is required")
	}
	before, after, err := x.keeper.File(ctx, id, x.paths([]string{path})[0])
	if err != nil {
		return nil, nil, inputError(err)
	}
	return textOf(before), textOf(after), nil
}

// textOf returns a content as a text. If there is none, it returns nil.
func textOf(content []byte) *string {
	if content == nil {
		return nil
	}
	text := string(content)
	return &text
}

// Create stores the present state under a title.
func (x *Instance) Create(ctx context.Context, title string) (Checkpoint, error) {
	if x.keeper == nil {
		return Checkpoint{}, errOff
	}
	if title = strings.TrimSpace(title); title == "" {
		title = "Checkpoint"
	}
	made, err := x.keeper.Name(ctx, title)
	return x.checkpoint(made), err
}

// Restore restores files to a checkpoint: all files changed by a turn since then, or the named
// files among them. A directory stands for its files. If others have also changed a file, it loses
// only the lines written by a turn. If these overlap, it is kept. For a named file, Restore shows
// the losses and asks the user. If a turn runs, Restore returns an error.
func (x *Instance) Restore(ctx context.Context, id string, files []string) (Restored, error) {
	return x.restore(ctx, id, files, func(ctx context.Context, id string, kept []string) bool {
		return len(files) > 0 && x.mayOverwrite(ctx, id, kept)
	})
}

func (x *Instance) restore(ctx context.Context, id string, files []string, overwrite func(ctx context.Context, id string, paths []string) bool) (r Restored, err error) {
	if x.keeper == nil {
		return r, errOff
	}
	err = x.Exclusive(ctx, func(ctx context.Context) error {
		var err error
		r, err = x.restoreNow(ctx, id, x.paths(files), overwrite)
		return err
	})
	return r, err
}

func (x *Instance) restoreNow(ctx context.Context, id string, files []string, overwrite func(ctx context.Context, id string, paths []string) bool) (Restored, error) {
	out, err := x.keeper.Restore(ctx, id, checkpoint.Choice{Files: files})
	if missed := x.keeper.Missed(time.Time{}, files); errors.Is(err, checkpoint.ErrUnchanged) && len(missed) > 0 {
		return Restored{}, extension.BadInput("files", "%v. %s", err, x.missedText(missed))
	}
	if err == nil && len(out.Kept) > 0 {
		out, err = x.restoreKept(ctx, id, out, overwrite)
	}
	var r Restored
	r.Restored = x.names(out.Restored)
	for _, k := range out.Kept {
		r.Kept, r.Why = append(r.Kept, x.Workspace.Name(k.Path)), append(r.Why, k.Why)
		if k.Others {
			r.Others = append(r.Others, x.Workspace.Name(k.Path))
		}
	}
	r.Missed = out.Missed
	changed := r.Restored[:len(r.Restored):len(r.Restored)]
	for _, k := range out.Kept {
		if k.Merged {
			changed = append(changed, x.Workspace.Name(k.Path))
		}
	}
	x.noteRestored(ctx, changed)
	r.Unsaved = unsaved(ctx, x.Workspace, out)
	return r, inputError(err)
}

// unsaved returns the files of a restore that the disk has with another text than the editor, also
// those that the editor could not save before.
func unsaved(ctx context.Context, ws *workspace.Workspace, out checkpoint.Outcome) (all []Unsaved) {
	for _, u := range out.Unsaved {
		all = append(all, Unsaved{ws.Name(u.Path), u.Why})
	}
	touched := slices.Concat(out.Restored, out.Same)
	for _, k := range out.Kept {
		if k.Merged {
			touched = append(touched, k.Path)
		}
	}
	names := map[string]bool{}
	for _, path := range touched {
		names[ws.Name(path)] = true
	}
	for _, name := range ws.UnsavedEdits(ctx) {
		if names[name] && !slices.ContainsFunc(all, func(u Unsaved) bool { return u.Path == name }) {
			all = append(all, Unsaved{Path: name})
		}
	}
	return all
}

// UnsavedText names the files with another text on the disk than in the editor. If there are none,
// it returns "".
func UnsavedText(all []Unsaved, list func([]string) string) string {
	var names, reasons []string
	for _, u := range all {
		names = append(names, u.Path)
		if u.Why != "" && !slices.Contains(reasons, u.Why) {
			reasons = append(reasons, u.Why)
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := "Not saved in the editor: " + list(names)
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, "; ") + ")"
	}
	return text + ". The disk has another text until you save."
}

// restoreKept restores kept files if overwrite allows it.
func (x *Instance) restoreKept(ctx context.Context, id string, out checkpoint.Outcome, overwrite func(ctx context.Context, id string, paths []string) bool) (checkpoint.Outcome, error) {
	var changed []string
	for _, k := range out.Kept {
		if k.Others {
			changed = append(changed, k.Path)
		}
	}
	if len(changed) == 0 || !overwrite(ctx, id, changed) {
		return out, nil
	}
	more, err := x.keeper.Restore(ctx, id, checkpoint.Choice{Files: changed, Exact: true, Force: func(string) bool { return true }})
	out.Kept = append(slices.DeleteFunc(out.Kept, func(k checkpoint.Kept) bool { return slices.Contains(changed, k.Path) }), more.Kept...)
	out.Restored = append(out.Restored, more.Restored...)
	out.Unsaved = append(out.Unsaved, more.Unsaved...)
	return out, err
}

// mayOverwrite shows the losses to the user, and asks.
func (x *Instance) mayOverwrite(ctx context.Context, id string, paths []string) bool {
	lost, err := x.keeper.Planned(ctx, id, paths, true)
	if err != nil {
		return false
	}
	decision, err := x.session.Decide(ctx, tools.ApprovalRequest{
		Kind: tools.KindEdit, Call: tools.Call{ID: "restore", Name: "restore", Args: []byte("{}")},
		Title:  "Overwrite " + strings.Join(x.names(paths), ", "),
		Reason: "overwrites changes that were made outside of this session; a new checkpoint keeps the current state",
		Edits:  gate.ShownWithout(x.session.Redact, lost),
	})
	return err == nil && decision.Allows()
}
