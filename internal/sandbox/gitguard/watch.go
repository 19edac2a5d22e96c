package gitguard

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// review is the state of the review of the workspace's places. All fields are guarded by the
// mutex of the Guard.
type review struct {
	approved map[string]string   // items as they were reviewed; nil: not yet
	running  int                 // commands without a review, and 1 if there are standing programs
	standing []string            // programs that keep running between their calls, see [Guard.Stand]
	since    time.Time           // when all items were approved; changes before were not made by a program
	left     bool                // approved are the items reviewed by a killed server
	stuck    map[string]string   // denied items that could not be removed
	held     map[string]bool     // paths to hold of the last scan
	ready    *Scene              // the last scan, for the next command
	writes   map[string]*written // writes made or approved by the user, by path, see [Guard.Note]
	journal  *journal
	tookOver time.Time     // when the journals of killed servers were looked for
	turn     chan struct{} // holds a token while a review runs
}

// Watch is a command whose changes of protected places are reviewed after its end. The nil Watch
// watches nothing.
type Watch struct {
	guard   *Guard
	opening Opening // of the command
	left    bool
	beside  []string // standing programs, if a place has changed before the command
	stands  bool     // it is for standing programs
}

// Watch scans these places before a command is confined. Changes made while no command ran are the
// user's, and count as reviewed. [Watch.End] or [Watch.Finish] follows. o is the command's opening.
// If ctx ends before the scan, Watch returns its error, and the command must not start.
func (g *Guard) Watch(ctx context.Context, o Opening) (*Watch, error) {
	made := make(chan result[*Watch], 1)
	g.work.Go(func() { made <- try(func() *Watch { return g.watch(o) }) })
	select {
	case r := <-made:
		return r.get(), nil
	case <-ctx.Done():
		g.work.Go(func() { (<-made).value.End() })
		return nil, fmt.Errorf("canceled before the command was started: %w", ctx.Err())
	}
}

// Stand watches a standing program, which keeps running between its calls. Call Stand before its
// start. by names it for the user. Until the Guard is closed, no change counts as the user's. So
// changes are reviewed before each command starts, see [Watch.Beside], and after each call of the
// program. [Watch.End] does nothing.
func (g *Guard) Stand(ctx context.Context, by string) (*Watch, error) {
	g.mu.Lock()
	known := slices.Contains(g.review.standing, by)
	g.mu.Unlock()
	if known {
		return &Watch{guard: g, stands: true}, nil
	}
	w, err := g.Watch(ctx, Opening{})
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := &g.review; slices.Contains(r.standing, by) || len(r.standing) > 0 {
		r.running-- // all count as one
	}
	if !slices.Contains(g.review.standing, by) {
		g.review.standing = append(g.review.standing, by)
	}
	w.stands = true
	return w, nil
}

// settle ends the watch of standing programs after their end. The user cannot be asked any more. So
// changes since the last review are undone before a program of the user's runs them, and the user
// is notified. If undoing fails, the next server asks.
func (g *Guard) settle() {
	g.mu.Lock()
	by, idle := slices.Clone(g.review.standing), g.review.running == 1
	g.mu.Unlock()
	if len(by) == 0 || !idle {
		return
	}
	changes := g.unsettled()
	if len(changes) > 0 {
		w := &Watch{guard: g, stands: true}
		var aside []string
		for i, err := range w.Remove(context.Background(), changes) {
			if err == nil {
				aside = append(aside, changes[i].What)
			}
		}
		g.leave(by, aside)
		changes = g.unsettled()
	}
	if len(changes) == 0 {
		g.mu.Lock()
		g.review.running, g.review.standing = 0, nil
		g.mu.Unlock()
	}
}

// unsettled returns the changes since the last review.
func (g *Guard) unsettled() []Change {
	s := g.lookAt(true)
	g.readWrites()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.compare(s, Opening{})
}

// Standing names the programs of [Guard.Stand].
func (g *Guard) Standing() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.review.standing)
}

func (g *Guard) watch(o Opening) *Watch {
	g.review.turn <- struct{}{}
	defer func() { <-g.review.turn }()
	s := g.lookAt(true)
	g.readWrites()
	g.protect(s, false)
	left := g.takeJournal(s)
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &g.review
	w := &Watch{guard: g, opening: o}
	switch {
	case left != nil:
		r.approved, r.left = left, true
		g.judgeWrites()
		r.release(s)
	case r.left:
	case r.approved == nil || r.running == 0:
		r.approved, r.since = maps.Clone(s.items), s.at
		for _, key := range s.former {
			delete(r.approved, key)
		}
		r.forgetWritesBefore(s.at)
		r.release(s)
	case len(r.standing) > 0 && len(g.compare(s, Opening{})) > 0:
		w.beside = slices.Clone(r.standing)
	}
	r.running++
	r.ready = s
	r.journal.write(r.approved)
	r.journal.mark(true)
	w.left = r.left
	return w
}

// release forgets removed stuck items. The others do not count as reviewed.
func (r *review) release(s *Scene) {
	for key, value := range r.stuck {
		if now, there := s.items[key]; !there || now != value {
			delete(r.stuck, key)
			continue
		}
		delete(r.approved, key)
	}
}

// Left reports whether a server was killed before it could review the changes of its
// commands. The changes have to be reviewed before the command is started.
func (w *Watch) Left() bool { return w != nil && w.left }

// Beside names the standing programs if they or the user have changed a place since the last
// review. The changes must be reviewed before the command is started. If nothing has changed, it
// returns nil.
func (w *Watch) Beside() []string {
	if w == nil {
		return nil
	}
	return w.beside
}

// End ends the watch after the command's end and the review of its changes.
func (w *Watch) End() {
	if w == nil || w.stands {
		return
	}
	g := w.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.review.running--; g.review.running == 0 && !g.review.left {
		g.review.journal.mark(false)
	}
}

// canceledReview is how long [Watch.Finish] waits for a review after a cancel.
const canceledReview = 500 * time.Millisecond

// Finish runs review, which reviews the changes of the command, and then ends the watch. It
// returns the text of review. If ctx ends and review takes too long, Finish returns false and
// review goes on: no other command starts before it has ended.
func (w *Watch) Finish(ctx context.Context, review func() string) (text string, done bool) {
	if w == nil {
		return "", true
	}
	texts := make(chan result[string], 1)
	w.guard.work.Go(func() {
		r := try(review)
		w.End()
		texts <- r
	})
	select {
	case r := <-texts:
		return r.get(), true
	case <-ctx.Done():
	}
	select {
	case r := <-texts:
		return r.get(), true
	case <-time.After(canceledReview):
		return "", false
	}
}

// Apart runs review in the background, as Finish does after a cancel.
func (w *Watch) Apart(review func()) {
	if w != nil {
		w.guard.work.Go(func() { try(func() any { review(); return nil }) })
	}
}

// result is the value of a function, or the value of its panic.
type result[T any] struct {
	value    T
	panicked any
}

// try calls f in a goroutine of ours. A panic there would end the server.
func try[T any](f func() T) (r result[T]) {
	defer func() { r.panicked = recover() }()
	r.value = f()
	return r
}

// get returns the value. If the function panicked, get panics, in the goroutine of the call.
func (r result[T]) get() T {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.value
}

// Change is a change of a protected place.
type Change struct {
	Path string
	What string // "the git hook .git/hooks/pre-commit"
	Asks bool   // the user may let it stand; else it has to be removed
	Key  string // the key of a remembered approval

	after  map[string]string // the changed items, as they are
	before map[string]string
	brings map[string]string // items of unchanged files that are imported by the change
	aside  bool              // it may be a file of the user's, and is only moved aside
	copies *copies           // of the files, as they were found
}

// mostLooked is how many entries of a directory [Change.Files] looks at.
const mostLooked = 1000

// Files returns at most limit regular files that were made or changed, also in directories. Those of a known directory are
// the ones that the review has found. made reports whether all are new.
func (c Change) Files(limit int) (paths []string, made bool) {
	made = true
	add := func(path string) {
		if len(paths) < limit && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for key, value := range c.found() {
		kind, path, _ := parts(key)
		if kind == settingItem || kind == todoItem || kind == cutItem {
			continue // a part of a file, or a folder
		}
		_, had := c.before[key]
		made = made && !had && c.brings[key] == ""
		if strings.HasPrefix(value, "-") {
			add(path)
			continue
		}
		if list := c.copies.list(path, value); list != nil {
			for _, f := range list {
				if strings.HasPrefix(f.mark, "-") {
					add(f.path)
				}
			}
			continue
		}
		looked := 0
		_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error { // unreadable files are not shown
			if looked++; looked > mostLooked || len(paths) >= limit {
				return fs.SkipAll
			}
			if err == nil && d.Type().IsRegular() {
				add(path)
			}
			return nil
		})
	}
	return paths, made
}

// found returns the changed and the imported items, in the order of their keys.
func (c Change) found() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for _, items := range []map[string]string{c.after, c.brings} {
			for _, key := range slices.Sorted(maps.Keys(items)) {
				if !yield(key, items[key]) {
					return
				}
			}
		}
	}
}

// Read returns the text of a file of [Change.Files] as the review has found it: a program can change the file
// before the user sees it. If the text is not kept, and the file has another one by now, Read returns an error.
func (c Change) Read(path string, limit int64) ([]byte, error) {
	mark := ""
	for key, value := range c.found() {
		_, at, _ := parts(key)
		if at == path {
			mark = value
		}
		for _, f := range c.copies.list(at, value) {
			if f.path == path {
				mark = f.mark
			}
		}
	}
	if text, ok := c.copies.text(mark); ok && int64(len(text)) <= limit {
		return text, nil
	}
	text, err := safefile.Read(path, limit)
	if sum := sumsOf(text)[0]; err == nil && strings.HasPrefix(mark, "-") && !slices.Contains(strings.Fields(mark), sum) {
		return nil, fmt.Errorf("%s has changed during the review", path)
	}
	return text, err
}

// Keep marks changes as reviewed.
func (w *Watch) Keep(changes []Change) {
	if len(changes) == 0 {
		return
	}
	r := &w.guard.review
	w.guard.mu.Lock()
	defer w.guard.mu.Unlock()
	for _, c := range changes {
		maps.Copy(r.approved, c.after)
		maps.Copy(r.approved, c.brings)
		for key := range c.after {
			_, path, _ := parts(key)
			r.forgetWrites(path)
		}
	}
	r.journal.write(r.approved)
}

// Changes returns the changes not reviewed yet. Only one review runs at a time: the caller must
// call done.
func (w *Watch) Changes() (all []Change, done func()) {
	if w == nil {
		return nil, func() {}
	}
	g := w.guard
	g.review.turn <- struct{}{}
	s := g.Look()
	g.readWrites()
	changes := g.changed(s, w.opening)
	g.protect(s, len(changes) > 0)
	return changes, func() {
		g.mu.Lock()
		g.review.left = false
		g.mu.Unlock()
		<-g.review.turn
	}
}

// changed lists the changes since the last review, and forgets missing items.
func (g *Guard) changed(s *Scene, o Opening) []Change {
	g.mu.Lock()
	defer g.mu.Unlock()
	changes := g.compare(s, o)
	kept := g.review.approved
	for key := range kept {
		if _, there := s.items[key]; !there {
			delete(kept, key) // a missing file runs nothing
		}
	}
	g.review.journal.write(kept)
	return changes
}

// compare lists the changes since the last review. The caller holds the mutex.
func (g *Guard) compare(s *Scene, o Opening) (all []Change) {
	groups := map[string]*Change{}
	o.Git = o.Git && g.review.running <= 1 && !s.hooked()
	var fresh []string
	reviewed := map[string]bool{}
	for key, value := range g.review.approved {
		if kind, _, _ := parts(key); kind != settingItem && kind != ownItem {
			reviewed[value] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.items)) {
		value := s.items[key]
		before, had := g.review.approved[key]
		if had && before == value {
			continue
		}
		kind, path, name := parts(key)
		if kind == importItem && value == missing {
			g.review.approved[key] = value
			continue
		}
		if o.covers(g.cfg.Roots(), kind, path, name, value, before) || kind == pointerItem && !unreadable(value) {
			g.review.approved[key] = value
			g.review.forgetWrites(path)
			continue
		}
		if g.known(kind, path, name, before, value) {
			g.review.approved[key] = value
			continue
		}
		if kind == importItem && !had {
			fresh = append(fresh, key)
			continue
		}
		had = had && before != missing
		if made, ok := g.wrote(kind, path); ok && !had {
			before, had = made, true
		}
		group := kind + "\x00" + path + "\x00" + name
		if kind == hookItem {
			group = kind + "\x00" + filepath.Dir(path)
		}
		c := groups[group]
		if c == nil {
			c = &Change{Path: path, after: map[string]string{}, before: map[string]string{}, Asks: kind != ownItem, copies: &g.copies}
			groups[group] = c
		}
		c.after[key] = value
		if had {
			c.before[key] = before
		} else if reviewed[value] {
			c.aside = true // the command may have moved it
		}
	}
	g.joinImports(s, fresh, groups)
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		c := groups[group]
		c.describe(s.roots)
		all = append(all, *c)
	}
	return all
}

func parts(key string) (kind, path, name string) {
	kind, rest, _ := strings.Cut(key, "\x00")
	path, name, _ = strings.Cut(rest, "\x00")
	return kind, path, name
}

// unreadable reports whether the value marks an unreadable item.
func unreadable(value string) bool { return strings.HasPrefix(value, "\x00") }

// covers reports whether a command with this opening may have made a change.
func (o Opening) covers(roots []string, kind, path, name, value, before string) bool {
	switch kind {
	case settingItem:
		if name == "" {
			return false
		}
		for _, one := range strings.Split(value, "\n") {
			if !slices.Contains(strings.Split(before, "\n"), one) && !o.approves(setting{name, manyLines(one)}) {
				return false
			}
		}
		return true
	case placeItem, ownItem:
		inRoot := slices.Contains(fspath.Existing(roots), filepath.Dir(path))
		return o.opens(path) || o.Git && !inRoot && kind == placeItem && !slices.Contains(inRepository, filepath.Base(path)) && !strings.HasSuffix(path, "/"+attributes)
	case todoItem: // a continued rebase has fewer
		return !unreadable(value) && isTail(value, before) || o.Git
	case orderItem, importItem:
		return o.Git || o.opens(path) || slices.Contains(o.Writes, path)
	}
	return false
}

// checkoutHooks are those that git runs when it changes files of the workspace.
var checkoutHooks = strings.Fields("post-checkout post-merge post-rewrite post-commit post-index-change reference-transaction pre-commit pre-merge-commit prepare-commit-msg commit-msg pre-rebase " +
	"applypatch-msg pre-applypatch post-applypatch pre-auto-gc fsmonitor-watchman")

// hooked reports whether git may have run a hook. Then what has changed need not come from a repository.
func (s *Scene) hooked() bool {
	for key, value := range s.items {
		kind, path, _ := parts(key)
		mode, _, _ := strings.Cut(value, " ")
		if kind == hookItem && slices.Contains(checkoutHooks, filepath.Base(path)) && (!strings.HasPrefix(mode, "-") || strings.Contains(mode, "x")) {
			return true
		}
	}
	return false
}

// isTail reports whether lines are the last lines of another text.
func isTail(lines, of string) bool { return lines == of || strings.HasSuffix(of, "\n"+lines) }

// describe fills in the texts.
func (c *Change) describe(roots []string) {
	kind, path, name := parts(slices.Sorted(maps.Keys(c.after))[0])
	value := c.after[slices.Sorted(maps.Keys(c.after))[0]]
	short := shortName(path, roots)
	switch kind {
	case hookItem:
		c.What = "the git hook " + short
		if n := len(c.after); n > 1 {
			c.What = fmt.Sprintf("%d git hooks in %s", n, filepath.Dir(short))
			c.Path = filepath.Dir(path)
		}
		c.Key = "git hooks in " + filepath.Dir(path)
		c.addOtherName(value)
	case settingItem:
		c.Key = "git config " + name + " " + value
		c.What = fmt.Sprintf("the git setting %s = %s, which runs a program", name, value)
		if name == "" {
			c.Key, c.What = "write "+path, "the git settings in "+short+", which could not be read"
			if strings.HasSuffix(value, otherName) {
				c.What = "the git settings in " + short + ", which have another name, by which they can be changed"
			}
		}
	case pointerItem:
		c.Key, c.What = "write "+path, short+", by which git finds a repository, and which could not be read"
		if to, ok := strings.CutPrefix(value, leadsAway); ok {
			c.Key = "link " + path + " to " + to
			c.What = short + ", by which git finds what lies outside of the workspace, in " + to
		} else if filepath.Base(path) == "commondir" {
			c.What = short + ", by which git takes the settings and hooks of another folder"
		}
	case ownItem:
		c.What = "our own settings, " + short
	case orderItem:
		c.Key, c.What = "write "+path, short+", which agents or tools obey"
		c.addOtherName(value)
	case importItem:
		c.Key, c.What = "write "+path, short+", which agents obey: instructions import it"
		c.addOtherName(value)
	case todoItem:
		c.Key, c.What = "write "+path, "programs that git runs when the rebase in "+short+" continues: "+value
	case cutItem:
		if short == "." {
			short = path
		}
		c.Key, c.What = "folders in "+path, uncounted(short)
	default:
		c.Key, c.What = "write "+path, short+", which an editor or a shell reads by itself"
		if strings.HasSuffix(path, "/"+attributes) {
			c.What = short + ", by which git chooses programs for files"
		}
		c.addOtherName(value)
	}
	c.describeImports(roots)
}

// addOtherName mentions another name of a file.
func (c *Change) addOtherName(value string) {
	if strings.HasSuffix(value, otherName) {
		c.What += ", which has another name, by which it can be changed"
	}
}

func shortName(path string, roots []string) string {
	for _, root := range roots {
		if rel, err := filepath.Rel(root, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}
