package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Choice selects the files of a restore.
type Choice struct {
	Files []string // absolute; a folder selects all files in it; empty: all files
	// Force is called for a file changed since by the user or another program. If it returns true,
	// the file is restored. Otherwise, and if Force is nil, the file is kept.
	Force func(path string) bool
	// Exact: if Force can restore a file, the file is not merged.
	Exact bool
}

// Outcome lists the results of a restore by absolute path.
type Outcome struct {
	Restored []string
	Kept     []Kept
	Missed   []Missed // changes that could not be restored, because no checkpoint holds them; Kept lists the files, too
	Unsaved  []Unsaved
	Same     []string // had their earlier state before the restore
}

// Unsaved is a file changed by a restore in the editor, which could not save it.
type Unsaved struct{ Path, Why string }

// Kept is a file not restored to its earlier state.
type Kept struct {
	Path, Why string
	Others    bool // because the user or another program may have changed it; Force can restore it
	Merged    bool // the session's changes are taken out, and the user's are still there
}

// Reasons why a file is kept.
const (
	changedSince = "it has been changed since"
	maybeOthers  = "it may have been changed outside this session"
	merged       = "your own changes in it are kept; those of the session are taken out"
)

// List returns the checkpoints of the session, newest first.
func (k *Keeper) List(ctx context.Context) ([]Info, error) {
	records, err := k.records(ctx)
	if err != nil {
		return nil, err
	}
	infos := []Info{}
	for _, r := range slices.Backward(records) {
		if info := r.info(); len(info.Files) > 0 || r.Kind == kindNamed { // changes of folders alone are not listed
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// records returns the records with changes or a name, oldest first. During a turn, the turn's
// record contains its changes so far.
func (k *Keeper) records(ctx context.Context) ([]*record, error) {
	if err := k.waitWritten(ctx); err != nil {
		return nil, err
	}
	k.scanNow(ctx)
	if err := k.recoverDead(); err != nil {
		return nil, err
	}
	all, err := k.store.records(k.Session)
	if err != nil {
		return nil, err
	}
	worth := all[:0]
	for _, r := range all {
		r.tidy()
		if r.worth() {
			worth = append(worth, r)
		}
	}
	return worth, nil
}

// scanNow records the changes of commands so far in the current snapshot.
func (k *Keeper) scanNow(ctx context.Context) {
	k.mu.Lock()
	p := k.snapshot
	k.mu.Unlock()
	if p == nil {
		return
	}
	defer k.Files.Boost()()
	select {
	case p.scanning <- struct{}{}:
		p.scan(ctx)
		<-p.scanning
	case <-ctx.Done():
	case <-p.done:
	}
}

// since returns the records from a checkpoint on. If the checkpoint does not exist, it returns
// ErrUnknown.
func (k *Keeper) since(ctx context.Context, id string) ([]*record, error) {
	records, err := k.records(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(records, func(r *record) bool { return r.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	return records[i:], nil
}

// history joins the changes of a path since a checkpoint.
type history struct {
	path   string
	was    State  // at the checkpoint
	left   State  // as the session left it
	steps  []Step // the session's changes; between two, the user or another program changed it
	unsure bool
}

// histories joins the changes of records by path. If any of files has no change, it returns
// ErrUnchanged.
func histories(records []*record, files []string) ([]history, error) {
	var all []history
	at := map[string]int{}
	for _, r := range records {
		for _, c := range r.changes {
			if !chosen(c.Path, files) && !madeFor(c, files) {
				continue
			}
			i, known := at[c.Path]
			if !known {
				i = len(all)
				at[c.Path] = i
				all = append(all, history{path: c.Path, was: c.Before})
			}
			h := &all[i]
			for _, s := range c.steps() {
				h.add(s)
			}
			h.left, h.unsure = c.After, h.unsure || c.Unsure
		}
	}
	for _, f := range files {
		if !slices.ContainsFunc(all, func(h history) bool { return chosen(h.path, []string{f}) }) {
			return nil, fmt.Errorf("%s: %w", f, ErrUnchanged)
		}
	}
	slices.SortFunc(all, func(a, b history) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// add adds a step. It joins steps between which the file stayed the same.
func (h *history) add(s Step) {
	if n := len(h.steps); n > 0 && h.steps[n-1].After.same(s.Before) {
		h.steps[n-1].After = s.After
		return
	}
	h.steps = append(h.steps, s)
}

// broken reports whether others changed the file between two changes of the session.
func (h history) broken() bool { return len(h.steps) > 1 }

func chosen(path string, files []string) bool {
	return len(files) == 0 || slices.ContainsFunc(files, func(f string) bool {
		return path == f || strings.HasPrefix(path, strings.TrimSuffix(f, string(filepath.Separator))+string(filepath.Separator))
	})
}

// madeFor reports whether a change created a folder around any of files. The folder may be empty
// after they are removed.
func madeFor(c *Change, files []string) bool {
	return c.After.Kind == kindFolder && c.Before.Kind == "" && slices.ContainsFunc(files, func(f string) bool {
		return strings.HasPrefix(f, c.Path+string(filepath.Separator))
	})
}

// Diff returns the changes from a checkpoint to the current state, as a patch for git apply.
func (k *Keeper) Diff(ctx context.Context, id string, files []string) (string, error) {
	return k.compare(ctx, id, files, false)
}

// Preview returns the changes of a forced restore, as a patch.
func (k *Keeper) Preview(ctx context.Context, id string, files []string) (string, error) {
	return k.compare(ctx, id, files, true)
}

// Planned returns the changes a restore would make, file by file. It leaves out kept files, folders
// and binary contents. If force is set, no file is kept.
func (k *Keeper) Planned(ctx context.Context, id string, files []string, force bool) ([]*workspace.Written, error) {
	records, err := k.since(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := histories(records, files)
	if err != nil {
		return nil, err
	}
	var shown []*workspace.Written
	r := restorer{Keeper: k, ctx: ctx, all: all}
	for _, h := range all {
		now, err := k.Files.Look(ctx, h.path)
		if err != nil {
			return nil, fmt.Errorf("comparing: %w", err)
		}
		present := stateOf(now)
		want := h.was
		text, err := k.content(want)
		if err != nil || want.Kind != kindFile && want.Kind != "" || present.Kind != kindFile && present.Kind != "" {
			continue
		}
		if !force && (h.unsure || h.broken() || !present.same(h.left)) {
			var ok bool
			if want, text, ok = r.takenOut(r.written(h), present, now.Text); !ok || h.unsure {
				continue
			}
		}
		if want.same(present) {
			continue
		}
		w := &workspace.Written{Path: h.path, Name: k.Files.Name(h.path), Created: !now.There(), Old: now.Content(), New: text, Open: now.Open}
		if want.Kind == kindFile && w.New == nil {
			w.New = []byte{}
		}
		shown = append(shown, w)
	}
	return shown, nil
}

func (k *Keeper) compare(ctx context.Context, id string, files []string, back bool) (string, error) {
	records, err := k.since(ctx, id)
	if err != nil {
		return "", err
	}
	all, err := histories(records, files)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, h := range all {
		now, err := k.Files.Look(ctx, h.path)
		if err != nil {
			return "", fmt.Errorf("comparing: %w", err)
		}
		text, err := k.content(h.was)
		if err != nil {
			fmt.Fprintf(&out, "# %s: as it was it cannot be shown: %v\n", k.Files.Name(h.path), err)
			continue
		}
		was := imageOf(h.was, text)
		if back {
			was, now = now, was
		}
		out.WriteString(workspace.ImageDiff(k.Files.Name(h.path), was, now))
	}
	return out.String(), nil
}

// content returns the content of a state. If the state is not a file, it returns nil. If the
// content was not saved, it returns an error with the reason.
func (k *Keeper) content(s State) ([]byte, error) {
	switch {
	case s.Kind != kindFile:
		return nil, nil
	case s.Sum == "":
		return nil, errors.New(s.Lost)
	}
	return k.store.get(s.Sum)
}

// File returns the content of a file at a checkpoint, and as the session has left it since. Without
// a change, both are the present content. If the file did not exist, the content is nil.
func (k *Keeper) File(ctx context.Context, id, path string) (was, left []byte, err error) {
	records, err := k.since(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	all, err := histories(records, []string{path})
	if err == nil && all[0].path == path {
		if was, err = k.content(all[0].was); err != nil {
			return nil, nil, fmt.Errorf("%s as it was: %w", k.Files.Name(path), err)
		}
		left, _ = k.content(all[0].left) // a content that is not stored is not shown
		return was, left, nil
	}
	now, err := k.Files.Look(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return now.Content(), now.Content(), nil
}

// Name creates a checkpoint of the current state.
func (k *Keeper) Name(ctx context.Context, title string) (Info, error) {
	leave, err := k.alone(ctx)
	if err != nil {
		return Info{}, err
	}
	defer leave()
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return Info{}, errClosed
	}
	p := k.enter(kindNamed, title)
	if k.inTurn {
		p.startScan()
	}
	k.mu.Unlock()
	if err := k.waitWritten(ctx); err != nil {
		return Info{}, err
	}
	if err := p.writeNow(); err != nil {
		return Info{}, err
	}
	if k.idle() {
		k.mu.Lock()
		k.leave()
		k.mu.Unlock()
		if err := k.waitWritten(ctx); err != nil {
			return Info{}, err
		}
	}
	return p.record.header.info(), nil
}

// writeNow writes the record's file even if it has no changes yet.
func (p *snapshot) writeNow() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeDown()
	return p.failed
}

func (h header) info() Info { return Info{ID: h.ID, Created: h.Created, Title: h.Title} }

// idle reports whether neither a turn nor a command runs.
func (k *Keeper) idle() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.inTurn && len(k.open) == 0
}

// alone waits until no other restore or named checkpoint is in progress. The caller must call
// leave.
func (k *Keeper) alone(ctx context.Context) (leave func(), err error) {
	select {
	case k.restoring <- struct{}{}:
		return func() { <-k.restoring }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Restore writes back the files changed by the session since a checkpoint. If the user or another
// program has also changed a file, and the changes do not overlap, Restore takes out the session's
// and lists the file in Kept. If they overlap, Restore leaves the file as it is and lists it in
// Kept, unless choice.Force returns true for it. Each file is restored completely or not at all.
// Restore saves the overwritten state in a new checkpoint. If the checkpoint does not exist, it
// returns ErrUnknown.
func (k *Keeper) Restore(ctx context.Context, id string, choice Choice) (Outcome, error) {
	leave, err := k.alone(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer leave()
	records, err := k.since(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	all, err := histories(records, choice.Files)
	if err != nil {
		return Outcome{}, err
	}
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return Outcome{}, errClosed
	}
	turn, inTurn := k.turn, k.inTurn
	k.enter(kindRestore, "Before going back to “"+records[0].Title+"”").record.To = id
	k.mu.Unlock()
	r := restorer{Keeper: k, ctx: ctx, choice: choice, all: all}
	r.run()
	r.outcome.keepMissed(k.Missed(records[0].Created, nil), choice.Files)
	k.mu.Lock()
	if inTurn {
		k.enter(kindTurn, turn).startScan()
	} else {
		k.leave()
	}
	k.mu.Unlock()
	slices.Sort(r.outcome.Restored)
	slices.SortFunc(r.outcome.Kept, func(a, b Kept) int { return strings.Compare(a.Path, b.Path) })
	return r.outcome, errors.Join(r.failed, k.waitWritten(ctx))
}

// restorer runs a restore.
type restorer struct {
	*Keeper
	ctx     context.Context
	choice  Choice
	all     []history
	outcome Outcome
	failed  error
}

// run first removes all paths that did not exist, folders after their content. Then it creates the
// removed folders, and then it restores the files.
func (r *restorer) run() {
	all := r.all
	folder := func(h history) bool { return h.was.Kind == kindFolder || h.left.Kind == kindFolder }
	for _, h := range slices.Backward(all) {
		if h.was.Kind == "" || folder(h) && h.was.Kind != kindFolder {
			r.one(h, State{})
		}
	}
	for _, h := range all {
		if h.was.Kind == kindFolder {
			r.one(h, h.was)
		}
	}
	for _, h := range all {
		if h.was.Kind == kindFile || h.was.Kind == kindLink {
			r.one(h, h.was)
		}
	}
}

// Reasons why a path is not changed, used inside a restore.
var (
	errAsItWas = errors.New("it is as it was")
	errOthers  = errors.New("it was changed outside the session")
)

// one restores the path of h to the state want.
func (r *restorer) one(h history, want State) {
	if r.ctx.Err() != nil {
		r.failed = r.ctx.Err()
		return
	}
	text, err := r.content(want)
	if err != nil {
		r.keep(h, "as it was it is not kept: "+err.Error())
		return
	}
	present := workspace.NoImage
	check := func(now workspace.Image) error {
		state := stateOf(now)
		present = now
		switch {
		case want.Kind == "" && state.Kind == kindFolder:
			return nil // only an empty folder can be removed
		case state.same(want) || want.Kind == "" && h.was.Kind != "" && state.same(h.was):
			return errAsItWas
		case h.broken() || h.unsure || !state.same(h.left) && !(h.left.Kind == kindFolder && state.Kind == ""):
			return errOthers
		}
		return nil
	}
	image := imageOf(want, text)
	err = r.Files.PutBack(r.ctx, h.path, image, check)
	if errors.Is(err, errOthers) && !h.unsure && !r.choice.Exact && r.merge(h, present) {
		return
	}
	if errors.Is(err, errOthers) && r.choice.Force != nil && h.was.Kind != kindFolder && r.choice.Force(h.path) {
		err = r.Files.PutBack(r.ctx, h.path, image, func(now workspace.Image) error {
			if stateOf(now).same(want) {
				return errAsItWas
			}
			return nil
		})
	}
	r.note(h, want, err)
}

// note records the result of a path.
func (r *restorer) note(h history, want State, err error) {
	err = r.noteUnsaved(h, err)
	isFolder := h.was.Kind == kindFolder || h.left.Kind == kindFolder && h.was.Kind == ""
	switch {
	case errors.Is(err, errAsItWas):
		r.outcome.Same = append(r.outcome.Same, h.path)
	case isFolder: // nonempty folders stay and are not listed
	case errors.Is(err, errOthers) && h.unsure && !h.broken():
		r.outcome.Kept = append(r.outcome.Kept, Kept{Path: h.path, Why: maybeOthers, Others: true})
	case errors.Is(err, errOthers):
		r.outcome.Kept = append(r.outcome.Kept, Kept{Path: h.path, Why: changedSince, Others: true})
	case err != nil:
		r.keep(h, workspace.Reason(err))
	case want.Kind == h.was.Kind:
		r.outcome.Restored = append(r.outcome.Restored, h.path)
	}
}

// noteUnsaved records a path that the editor has changed and could not save, and returns nil. It
// returns other errors.
func (r *restorer) noteUnsaved(h history, err error) error {
	var unsaved *workspace.NotSaved
	if !errors.As(err, &unsaved) {
		return err
	}
	r.outcome.Unsaved = append(r.outcome.Unsaved, Unsaved{h.path, unsaved.Why})
	return nil
}

// merge takes the session's changes out of the current file. If others' changes overlap them, it
// does nothing and returns false.
func (r *restorer) merge(h history, now workspace.Image) bool {
	if !now.There() || !now.Mode.IsRegular() || now.Text == nil {
		return false
	}
	present := stateOf(now)
	steps := r.written(h)
	want, text, ok := r.takenOut(steps, present, now.Text)
	if !ok {
		return false
	}
	moved := steps[0].Before.Kind != h.steps[0].Before.Kind
	changed := !want.same(present)
	if changed {
		err := r.Files.PutBack(r.ctx, h.path, imageOf(want, text), func(now workspace.Image) error {
			if !stateOf(now).same(present) {
				return errOthers // the user continues to edit
			}
			return nil
		})
		if errors.Is(err, errOthers) {
			return false
		}
		if err = r.noteUnsaved(h, err); err != nil {
			r.keep(h, workspace.Reason(err))
			return true
		}
	}
	switch {
	case !changed && !moved: // the user has taken it out
	case want.same(h.was):
		r.outcome.Restored = append(r.outcome.Restored, h.path)
	default:
		r.outcome.Kept = append(r.outcome.Kept, Kept{Path: h.path, Why: merged, Merged: true})
	}
	return true
}

// mostMoved limits how many files are compared to find a moved file, and mostCompared their size.
const mostMoved, mostCompared = 100, 1 << 20

// written returns the steps of a path without lines the session only moved there. If a removed file
// contained most of the lines, they come from it.
func (r *restorer) written(h history) []Step {
	if h.was.Kind != "" || h.left.Kind != kindFile {
		return h.steps
	}
	text, err := r.content(h.steps[0].After)
	if err != nil || len(text) > mostCompared {
		return h.steps
	}
	made, _ := lines(string(text))
	best, from, looks := 0, State{}, 0
	for _, o := range r.all {
		if o.was.Kind != kindFile || o.left.Kind == kindFile || o.was.Size > mostCompared {
			continue
		}
		if looks++; looks > mostMoved {
			break
		}
		old, err := r.content(o.was)
		if err != nil {
			continue
		}
		had, _ := lines(string(old))
		kept := len(had)
		for _, c := range diff.Compare(had, made) {
			kept -= c.OldTo - c.OldFrom
		}
		if kept > best && 2*kept >= max(len(had), len(made)) {
			best, from = kept, o.was
		}
	}
	if best == 0 {
		return h.steps
	}
	steps := slices.Clone(h.steps)
	steps[0].Before = from
	return steps
}

// takenOut returns the file now without the steps. The newest step is taken out first.
func (r *restorer) takenOut(steps []Step, now State, text []byte) (State, []byte, bool) {
	for _, s := range slices.Backward(steps) {
		var err error
		switch {
		case now.same(s.After):
			now = s.Before
			if text, err = r.content(now); err != nil {
				return now, nil, false
			}
			continue
		case now.same(s.Before):
			continue
		case now.Kind != kindFile || s.After.Kind != kindFile || s.Before.Kind != kindFile && s.Before.Kind != "":
			return now, nil, false
		}
		base, err := r.content(s.After)
		if err != nil {
			return now, nil, false
		}
		theirs, err := r.content(s.Before)
		if err != nil {
			return now, nil, false
		}
		if now.Editor { // an editor has every text as UTF-8
			base, theirs = plain(base, s.After), plain(theirs, s.Before)
		}
		out, ok := mergeTexts(base, text, theirs)
		if !ok {
			return now, nil, false
		}
		if s.Before.Kind == "" && len(out) == 0 {
			now, text = State{}, nil
			continue
		}
		text = out
		if now.Mode == s.After.Mode && s.Before.Kind == kindFile && !s.Before.Editor && !s.After.Editor {
			now.Mode = s.Before.Mode
		}
		now.Size, now.Sum = int64(len(text)), sumOf(text)
	}
	return now, text, true
}

// plain returns the content of a state as an editor shows it.
func plain(text []byte, s State) []byte {
	if s.Editor {
		return text
	}
	return bytes.TrimPrefix(textenc.CharsetOf(text).Decode(text), []byte("\ufeff"))
}

func (r *restorer) keep(h history, why string) {
	r.outcome.Kept = append(r.outcome.Kept, Kept{Path: h.path, Why: why})
}

// recoverDead completes the records of killed processes. It compares the workspace with the initial
// tree. Differences without a record are marked unsure, because the user or another program may
// have made them since.
func (k *Keeper) recoverDead() error {
	records, err := k.store.records(k.Session)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.Owner == "" || k.store.lives(r.Owner) {
			continue
		}
		done, err := k.store.writing()
		if err != nil {
			return err
		}
		err = k.recoverOne(r)
		done()
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *Keeper) recoverOne(r *record) error {
	for _, c := range r.changes {
		c.Unsure = c.Unsure || c.Begun
	}
	k.completeWrites(r)
	if base, err := k.store.load(r.Base); r.Base != "" && err == nil {
		limits := k.Limits()
		next, err := k.store.scan(k.ctx, k.Confine, k.Files, base, limits)
		if err != nil {
			return err
		}
		k.store.saveBlobs(k.ctx, k.Files, next, limits)
		p := newSnapshot(k, r.header, nil)
		defer p.skip()
		p.record = r
		p.compare(base, next, limits, true)
	}
	name := r.Base
	r.Base, r.Owner = "", ""
	r.tidy()
	if !r.worth() {
		return k.store.removeRecord(k.Session, r.ID)
	}
	if err := k.store.write(k.Session, r); err != nil {
		return err
	}
	if name != "" {
		_ = os.Remove(k.store.treeFile(name)) // else the next clean-up removes it
	}
	return nil
}
