package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// snapshot is the time between one checkpoint and the next, while it goes on: what is
// changed in it is what the checkpoint brings back.
type snapshot struct {
	k       *Keeper
	before  *snapshot     // ends before this one looks; nil: none
	since   int64         // when it began
	started time.Time     // the same, by the clock that tests may hold
	done    chan struct{} // closed when it has ended and is written down

	surveyed sync.Once
	ready    chan struct{} // closed when the first look is over; never without one
	skip     context.CancelFunc
	ctx      context.Context // of the first look

	looking chan struct{} // has room for one

	mu      sync.Mutex
	record  *record
	written bool             // the record has a file
	failed  error            // why it has none
	base    *tree            // of the first look; nil: there is none
	newest  *tree            // of the last look; nil: there was none
	past    spans            // of commands that have ended
	blind   bool             // commands ran since the last look
	used    bool             // commands ran at all
	looked  time.Time        // when the last look was over
	took    time.Duration    // the time it took
	closed  bool             // what comes now belongs to another
	left    map[string]State // what paths were when the next part changed them, before the last look
}

// errClosed says that nothing is taken any more.
var errClosed = errors.New("the session is closed")

func newSnapshot(k *Keeper, h header, before *snapshot) *snapshot {
	p := &snapshot{k: k, before: before, since: now(), started: h.Created, done: make(chan struct{}), ready: make(chan struct{}), looking: make(chan struct{}, 1), record: newRecord(h)}
	p.ctx, p.skip = context.WithCancel(k.ctx)
	return p
}

// startScan starts the first look, once.
func (p *snapshot) startScan() {
	p.surveyed.Do(func() {
		p.k.work.Go(func() {
			defer close(p.ready)
			p.first()
		})
	})
}

// first looks at the workspace as it is before anything happens, and keeps what can
// be had from nowhere else.
func (p *snapshot) first() {
	var fresh *tree
	if p.before != nil {
		<-p.before.done
		if last := p.before.newest; last != nil && last.began >= p.since {
			fresh = last // the look at the end of the part before and the first one here are one
		}
		p.before = nil
	}
	limits := p.k.Limits()
	base, err := p.k.baseline(p.ctx, fresh, limits)
	if err != nil {
		if p.ctx.Err() == nil {
			p.k.tell("Checkpoints cannot cover what commands and scripts change: %v. What the file tools change is covered.", err)
		}
		return
	}
	p.mu.Lock()
	p.base = base
	p.mu.Unlock()
}

// baseline is a tree with everything kept that has to be: t, or one of now.
func (k *Keeper) baseline(ctx context.Context, t *tree, limits Limits) (*tree, error) {
	done, err := k.store.writing()
	if err != nil {
		return nil, err
	}
	defer done()
	known := k.newest()
	if t == nil {
		if t, err = k.store.scan(ctx, k.Confine, k.Files, known, limits); err != nil {
			return nil, err
		}
	}
	changed := k.store.saveBlobs(ctx, k.Files, t, limits)
	k.Files.Yield(ctx)
	k.store.pinGitObjects(t)
	if known != nil && !changed && len(difference(known, t)) == 0 {
		t.file = known.file
	} else if err := k.store.save(t, newest(k.Files.Folders())); err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.known = t
	k.mu.Unlock()
	return t, nil
}

// newest is the newest tree that is known, of this process or of another. What is
// only in memory does not count: another process may have removed what it names.
func (k *Keeper) newest() *tree {
	k.mu.Lock()
	known := k.known
	k.mu.Unlock()
	name := newest(k.Files.Folders())
	if known != nil && known.file != (stamp{}) && fileStamp(k.store.treeFile(name)) == known.file {
		return known
	}
	t, err := k.store.load(name)
	if err != nil {
		return nil // everything is looked at anew
	}
	return t
}

// await waits for the first look, as long as that is bearable.
func (p *snapshot) await(ctx context.Context) {
	defer p.k.Files.Boost()()
	limit, stop := context.WithTimeout(ctx, p.k.Patience)
	defer stop()
	select {
	case <-p.ready:
	case <-limit.Done():
		if ctx.Err() == nil {
			p.k.tell("Keeping the workspace before a command takes longer than %v: what is not kept by then cannot be brought back.", p.k.Patience)
			p.skip() // what is not kept is marked so
			<-p.ready
		}
	}
}

// opaque says that commands run from now on. Its caller holds the keeper's mu.
func (p *snapshot) opaque() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blind, p.used = true, true
	p.pinBase()
	p.writeDown()
}

// pinBase keeps the tree of the first look for whoever has to go on with the record.
// Its caller holds mu.
func (p *snapshot) pinBase() {
	if p.base == nil || p.record.Base != "" {
		return
	}
	if err := p.k.store.pin(p.base, newest(p.record.Folders), p.record.ID); err != nil {
		return // the record is of use without
	}
	p.record.Base = p.record.ID
	if p.written {
		_ = p.k.store.write(p.k.Session, p.record) // as it was, if it cannot be
	}
}

// ran notes when a command ran.
func (p *snapshot) ran(from, to int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past = append(p.past, [2]int64{from, to})
	p.blind, p.used = true, true
}

// writeDown makes the record's file, so that somebody can go on with it should this
// process be killed. Its caller holds mu.
func (p *snapshot) writeDown() {
	if p.written || p.failed != nil {
		return
	}
	owner, err := p.k.store.us()
	if err == nil {
		p.record.Owner = owner
		p.record.Created = time.Now().UTC() // later than the prompt of the turn
		err = p.k.store.write(p.k.Session, p.record)
	}
	if err != nil {
		p.failed = err
		p.k.tell("This turn cannot be taken back, because its checkpoint cannot be written: %v.", err)
		return
	}
	p.written = true
}

// willWrite notes that a tool is about to change a path, and keeps what is there.
func (p *snapshot) willWrite(path string, old workspace.Image) error {
	state := stateOf(old)
	done, err := p.k.store.writing()
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.writeDown()
		return err
	}
	defer done()
	limits := p.k.Limits()
	if state.Kind == kindFile && state.Lost == "" {
		if state.Size > limits.File {
			state.Lost = tooLarge
		} else if _, err := p.k.store.put(old.Text); err != nil {
			state.Lost = notStored
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	p.writeDown()
	if p.failed != nil {
		return p.failed
	}
	c, known := p.record.change(path)
	if !known {
		c.Before, c.late = state, p.used
	}
	c.After, c.Begun, c.noted = state, true, now()
	p.add(c)
	return nil
}

// recordSuperseded notes what a path was when the next part changed it: the last look of this
// one, which goes on beside, may come too late to see it.
func (p *snapshot) recordSuperseded(path string, old workspace.Image) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.used {
		return
	}
	if p.left == nil {
		p.left = map[string]State{}
	}
	if _, known := p.left[path]; !known {
		p.left[path] = stateOf(old)
	}
}

// didWrite notes what a tool has didWrite of a path.
func (p *snapshot) didWrite(path string, image workspace.Image) {
	state := stateOf(image)
	p.mu.Lock()
	defer p.mu.Unlock()
	c, _ := p.record.change(path)
	c.After, c.Begun, c.noted = state, false, now()
	p.add(c)
	p.k.store.remember(p.k.Session, path, state)
}

// add writes a change down. Its caller holds mu.
func (p *snapshot) add(c *Change) {
	if !p.written {
		return
	}
	if err := p.k.store.add(p.k.Session, p.record.ID, c); err != nil {
		p.k.tell("A change is missing from this turn's checkpoint: %v.", err)
	}
}

// scanSoon scans what commands have changed, in the background, so that
// less is left to scan at the end. It uses only a part of the time.
func (p *snapshot) scanSoon() {
	p.mu.Lock()
	rest := time.Since(p.looked) < 4*p.took
	p.mu.Unlock()
	if rest {
		return
	}
	select {
	case p.looking <- struct{}{}:
	default:
		return // the look at the end sees it too
	}
	p.k.work.Go(func() {
		defer func() { <-p.looking }()
		p.scan()
	})
}

// end writes the snapshot after a last scan. It does not wait.
func (p *snapshot) end() {
	p.mu.Lock()
	needed := p.blind || p.used
	p.mu.Unlock()
	if !needed {
		p.skip()
	}
	p.surveyed.Do(func() { close(p.ready) }) // there was none, and none will be
	p.k.work.Go(func() {
		<-p.ready
		p.looking <- struct{}{} // nobody else looks any more
		if p.before != nil {
			<-p.before.done
			p.before = nil
		}
		p.scan()
		p.finish()
		p.skip()
		close(p.done)
		p.k.store.tidyUp(p.k.ctx, p.k.Limits())
	})
}

// finish closes the record.
func (p *snapshot) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if !p.written {
		if p.record.Kind != kindNamed || p.failed != nil {
			return
		}
		p.written = true
	}
	done, err := p.k.store.writing()
	if err != nil {
		return // left as it is, for whoever comes next
	}
	defer done()
	p.k.settleBegun(p.record)
	p.record.tidy()
	base := p.record.Base
	p.record.Base, p.record.Owner = "", ""
	if !p.record.worth() {
		err = p.k.store.removeRecord(p.k.Session, p.record.ID)
	} else {
		err = p.k.store.write(p.k.Session, p.record)
	}
	if err != nil {
		p.k.tell("A checkpoint may be missing: %v.", err)
	} else if base != "" {
		_ = os.Remove(p.k.store.treeFile(base)) // else the next clean-up does
		if p.base != nil {
			p.k.store.unpinGitObjects(p.base)
		}
	}
}

// settleBegun finds out what became of changes that were begun: a batch that was
// taken back tells of none, and a process that was killed neither.
func (k *Keeper) settleBegun(r *record) {
	for _, c := range r.changes {
		if !c.Begun {
			continue
		}
		c.Begun = false
		if now, err := k.Files.Look(context.WithoutCancel(k.ctx), c.Path); err == nil {
			c.After = stateOf(now)
		}
	}
}

// scan finds out what commands have changed so far.
func (p *snapshot) scan() {
	busy := p.k.Busy != nil && p.k.Busy()
	p.mu.Lock()
	base, blind := p.base, p.blind || busy && p.written
	p.blind = false
	p.mu.Unlock()
	if base == nil || !blind {
		return
	}
	began := time.Now()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.looked, p.took = time.Now(), time.Since(began)
	}()
	done, err := p.k.store.writing()
	if err != nil {
		return
	}
	defer done()
	limits := p.k.Limits()
	next, err := p.k.store.scan(p.k.ctx, p.k.Confine, p.k.Files, p.k.newest(), limits)
	if err != nil {
		p.mu.Lock()
		p.blind = true // the next look is made after all
		p.mu.Unlock()
		if p.k.ctx.Err() == nil {
			p.k.tell("What commands have changed could not be found out: %v.", err)
		}
		return
	}
	p.k.store.saveBlobs(p.k.ctx, p.k.Files, next, limits)
	p.compare(base, next, limits, busy)
	p.mu.Lock()
	p.newest = next
	p.mu.Unlock()
}

// compare notes what is another in next than it was in base.
func (p *snapshot) compare(base, next *tree, limits Limits, busy bool) {
	paths := p.alsoNoted(difference(base, next))
	p.k.store.fetch(p.k.ctx, p.k.Confine, base, paths)
	p.k.store.fetch(p.k.ctx, p.k.Confine, next, paths)
	running := p.k.running()
	p.mu.Lock()
	defer p.mu.Unlock()
	c := comparison{snapshot: p, base: base, next: next, limits: limits, spans: append(running, p.past...)}
	c.sure = busy || !stampsTell
	for _, path := range paths {
		if strings.HasSuffix(path, string(filepath.Separator)+".gitignore") {
			c.rules = true
		}
	}
	for _, path := range paths {
		c.path(path)
	}
	p.settleLate(base, next)
}

// alsoNoted adds to paths what tools have changed: a command may have taken it back.
func (p *snapshot) alsoNoted(paths []string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.record.changes {
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// running are the times of the commands that still run.
func (k *Keeper) running() (all spans) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.open {
		all = append(all, [2]int64{c.began, now()})
	}
	return all
}

// settleLate corrects what tools noted of files after a command had run: the tree of
// the beginning knows what was there before that. Its caller holds mu.
func (p *snapshot) settleLate(base, next *tree) {
	for _, c := range p.record.changes {
		if !c.late || c.Before.Editor {
			continue
		}
		e, there := base.entries[c.Path]
		switch {
		case there && e.safe():
			p.k.store.fetch(p.k.ctx, p.k.Confine, base, []string{c.Path})
			c.Before = base.entries[c.Path].state()
		case !there && (next.covers(c.Path) || p.k.Files.InScan(c.Path)):
			c.Before = State{}
		default:
			continue
		}
		c.late = false
		p.add(c)
	}
}

// covers reports whether a path is in the tree.
func (t *tree) covers(path string) bool {
	_, ok := t.entries[path]
	return ok
}

// comparison goes through what differs between two trees.
type comparison struct {
	*snapshot
	base, next *tree
	limits     Limits
	spans      spans
	sure       bool // whoever changed something, it counts as this session's
	rules      bool // rules of what is ignored were changed
}

// path notes one change, if it is one and this session's.
func (c *comparison) path(path string) {
	old, was := c.base.entries[path]
	now, is := c.next.entries[path]
	if !is {
		if !c.k.Files.Holds(path) {
			return // its folder is no longer one of the workspace's
		}
		if now, is = c.k.store.look(c.k.Files, path, c.limits); is && !was {
			return
		}
	}
	if was && is && old.stamp == now.stamp && !old.hasSum() {
		return // what it was is not known, but it was left alone
	}
	var before, after State
	if was {
		before = old.state()
	}
	if is {
		after = now.state()
	}
	left, overtaken := c.left[path]
	if overtaken {
		after = left
	}
	known := c.record.byPath[path]
	if before.same(after) && known == nil {
		return
	}
	if !was && is && now.Changed < c.base.stamped {
		return // it was there already, and is not ignored any more
	}
	if c.others(path, after) {
		return
	}
	ours := overtaken || c.ours(now, is)
	if known != nil {
		if known.Begun || known.noted >= c.next.began || !ours || known.After.same(after) {
			return // what a tool has written since the look began is newer
		}
		known.After, known.Unsure = after, false
		c.add(known)
		return
	}
	change, _ := c.record.change(path)
	change.Before, change.After = before, after
	change.Unsure = !ours || c.rules && !was
	c.add(change)
}

// ours reports whether a command can have made the change: it ran when the file was
// changed. Of a file that is gone nothing is known; it does no harm to bring it back.
func (c *comparison) ours(now entry, is bool) bool {
	return c.sure || !is || c.spans.hold(now.Changed)
}

// others reports whether another session has left a path as it is.
func (c *comparison) others(path string, after State) bool {
	return c.k.store.leftByOthers(c.k.Session, c.started, path, after)
}
