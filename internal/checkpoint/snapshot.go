package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// snapshot is a checkpoint still recording changes. A restore of the checkpoint reverts these
// changes.
type snapshot struct {
	k       *Keeper
	before  *snapshot     // ends before this snapshot scans; nil: none
	since   int64         // when it began
	started time.Time     // when it began, by a clock under the control of tests
	done    chan struct{} // closed when it has ended and is written

	firstScan sync.Once
	ready     chan struct{} // closed when the first scan has ended, or if there is none
	skip      context.CancelFunc
	ctx       context.Context // of the first scan

	scanning chan struct{} // a semaphore for a scan

	mu      sync.Mutex
	record  *record
	written bool     // the record's file exists
	unadded []string // paths of changes missing from the file
	failed  error    // why its file could not be written
	unseen  unseen
	base    *tree            // of the first scan; nil: there is none
	newest  *tree            // of the last scan; nil: there was none
	past    spans            // of ended commands
	blind   bool             // commands ran since the last scan
	used    bool             // commands ran at all
	scanned time.Time        // when the last scan ended
	took    time.Duration    // how long the last scan took
	again   bool             // there was a scan after the first scan
	closed  bool             // later changes belong to another snapshot
	saves   []save           // of the user, which the next scan takes into account
	users   map[string]State // states of paths as the user left them
	left    map[string]State // states of paths before the next snapshot changed them, before the last scan
}

// errClosed is returned if the keeper or the snapshot does not accept changes anymore.
// unseen says why changes of commands are not found: there is no first scan, or the last scan failed.
type unseen struct {
	why    string // "": they are found
	notice string // for the user, if a command runs; "": none
}

var errClosed = errors.New("the session is closed")

func newSnapshot(k *Keeper, h header, before *snapshot) *snapshot {
	p := &snapshot{users: map[string]State{}, k: k, before: before, since: now(), started: h.Created, done: make(chan struct{}), ready: make(chan struct{}), scanning: make(chan struct{}, 1), record: newRecord(h)}
	p.ctx, p.skip = context.WithCancel(k.ctx)
	return p
}

// startScan starts the first scan. Later calls do nothing.
func (p *snapshot) startScan() {
	p.firstScan.Do(func() {
		p.k.work.Go(func() {
			defer close(p.ready)
			p.first()
		})
	})
}

// first scans the workspace before commands run and saves the contents that exist nowhere else.
func (p *snapshot) first() {
	var fresh *tree
	began := time.Now()
	if p.before != nil {
		<-p.before.done
		if last := p.before.newest; last != nil && last.began >= p.since {
			fresh = last // the last scan of the previous snapshot is also the first scan here
		}
		p.before = nil
	}
	limits := p.k.Limits()
	base, err := p.k.baseline(p.ctx, fresh, limits)
	if err != nil {
		why := p.k.store.why(err)
		notice := "Checkpoints cannot cover what commands and scripts change: " + why + ". What the file tools change is covered."
		if p.ctx.Err() != nil {
			why, notice = fmt.Sprintf("saving the workspace before a command took longer than %v", p.k.ScanTimeout), ""
		}
		p.mu.Lock()
		p.unseen = unseen{why, notice}
		p.mu.Unlock()
		return
	}
	p.mu.Lock()
	p.base = base
	p.scanned, p.took = time.Now(), time.Since(began)
	p.mu.Unlock()
	p.k.base.Store(base)
}

// baseline saves the contents of t that exist nowhere else and returns t. If t is nil, it scans
// the workspace first.
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
	} else {
		t = k.store.recheck(t)
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

// newest returns the newest tree of the workspace, from this process or another. A tree only in
// memory is not used, because another process may have removed its contents. If there is no tree,
// it returns nil.
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
		return nil // the scan then reads everything
	}
	return t
}

// await waits for the first scan. After k.ScanTimeout, it notifies the user and cancels the scan.
// If ctx ends, it returns at once.
func (p *snapshot) await(ctx context.Context) {
	defer p.k.Files.Boost()()
	limit, stop := context.WithTimeout(ctx, p.k.ScanTimeout)
	defer stop()
	select {
	case <-p.ready:
	case <-limit.Done():
		if ctx.Err() == nil {
			p.k.report("Saving the workspace before a command takes longer than %v. Contents that are not saved by then cannot be restored.", p.k.ScanTimeout)
			p.skip() // unsaved contents are marked as lost
			<-p.ready
		}
	}
}

// A scan that takes at most shortScan, or finds at most fewFiles, is repeated before and after each
// command. The number matters on a busy machine, where each scan is slow.
const (
	shortScan = 50 * time.Millisecond
	fewFiles  = 5000
)

// rests reports whether no scan is due yet: long scans may use only a part of the time. Its caller
// holds mu.
func (p *snapshot) rests() bool {
	return p.took > shortScan && time.Since(p.scanned) < 4*p.took && (p.base == nil || p.base.size() > fewFiles)
}

// lookAgain scans the changes by the user and other programs since the last scan before a command,
// because the command may change the same files. It limits the share of time that longer scans use.
func (p *snapshot) lookAgain(ctx context.Context) {
	p.mu.Lock()
	rest := p.base == nil || p.rests()
	p.blind = p.blind || !rest
	p.mu.Unlock()
	if rest {
		return
	}
	defer p.k.Files.Boost()()
	ctx, stop := context.WithTimeout(ctx, p.k.ScanTimeout)
	defer stop()
	select {
	case p.scanning <- struct{}{}:
		p.scan(ctx)
		<-p.scanning
	case <-ctx.Done():
	}
}

// opaque records that commands run from now on.
func (p *snapshot) opaque() {
	if done, err := p.k.store.writing(); err == nil { // else writeDown reports it
		defer done()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return // the caller uses the next snapshot
	}
	p.blind, p.used = true, true
	p.pinBase()
	p.writeDown()
	switch {
	case p.failed != nil:
		p.miss("", p.k.store.why(p.failed))
	case p.base == nil && p.unseen.why != "":
		if p.unseen.notice != "" {
			p.k.report("%s", p.unseen.notice)
		}
		p.miss("", p.unseen.why)
	}
}

// pinBase keeps the tree of the first scan and its contents. Another process may need them to
// complete the record. Its caller holds mu and prevents clean-ups.
func (p *snapshot) pinBase() {
	if p.base == nil || p.record.Base != "" {
		return
	}
	if name := newest(p.record.Folders); p.base.file == (stamp{}) || fileStamp(p.k.store.treeFile(name)) != p.base.file {
		// Another process has replaced the tree's file, which protected the contents.
		if checked := p.k.store.recheck(p.base); checked != p.base {
			p.k.store.saveBlobs(p.ctx, p.k.Files, checked, p.k.Limits())
			p.base = checked
		}
	}
	if err := p.k.store.pin(p.base, newest(p.record.Folders), p.record.ID); err != nil {
		return // the record is useful without it
	}
	p.record.Base = p.record.ID
	if p.written {
		_ = p.k.store.write(p.k.Session, p.record) // on an error, the file stays as it was
	}
}

// ran records when a command ran.
func (p *snapshot) ran(from, to int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past = append(p.past, [2]int64{from, to})
	p.blind, p.used = true, true
}

// writeDown writes the record's file. If this process is killed, another process can then
// complete the record. Its caller holds mu.
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
		p.k.report("The changes of this turn cannot be restored, because its checkpoint cannot be written: %s.", p.k.store.why(err))
		return
	}
	p.written = true
}

// willWrite records that a tool is about to change a path, and saves its content. If the snapshot
// has ended, it returns errClosed. If the record cannot be written, it returns the error.
func (p *snapshot) willWrite(path string, old workspace.Image) error {
	state := stateOf(old)
	done, err := p.k.store.writing()
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.writeDown()
		p.miss(path, p.k.store.why(err))
		return err
	}
	defer done()
	p.k.store.keepText(&state, old.Text, p.k.Limits())
	running := p.k.running()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	p.writeDown()
	if p.failed != nil {
		p.miss(path, p.k.store.why(p.failed))
		return p.failed
	}
	c, known := p.record.change(path)
	if known {
		p.takeSaves(c)
		if users, ok := p.users[path]; ok && !c.Begun { // any difference is a command's
			c.next(users)
			delete(p.users, path)
		}
	}
	spans := append(running, p.past...)
	if !known {
		p.noteFolders(path, spans)
	}
	switch {
	case !known:
		c.Before, c.first, c.late = state, now(), p.used && !p.savedByUser(path) && !p.byUser(path, state, spans)
	case !c.Begun && !c.After.same(state) && p.byUser(path, state, spans):
		c.next(state)
	}
	c.After, c.Begun, c.noted = state, true, now()
	p.add(c)
	return nil
}

// noteFolders records the folders above a path made by a command since the last scan. A tool's
// write changes their times, so the next scan could not attribute them to the command. Its caller
// holds mu.
func (p *snapshot) noteFolders(path string, commands spans) {
	if p.base == nil || !p.used || !stampsTell {
		return
	}
	for dir := filepath.Dir(path); p.k.Files.Holds(dir); dir = filepath.Dir(dir) {
		found, there := p.k.Files.Entry(dir)
		if !there {
			continue // the tool makes it
		}
		_, recorded := p.record.byPath[dir]
		_, users := p.users[dir]
		if recorded || users || p.base.covers(dir) || !found.Info.IsDir() || !commands.hold(stampOf(found.Info).Changed) || !p.k.Files.InScan(dir) {
			return
		}
		c, _ := p.record.change(dir)
		c.After, c.noted = State{Kind: kindFolder, Mode: uint32(found.Info.Mode().Perm())}, now()
		p.add(c)
	}
}

// keepText saves the content of a state. If it cannot, it sets Lost to the reason.
func (s *Store) keepText(state *State, text []byte, limits Limits) {
	if state.Kind != kindFile || state.Lost != "" {
		return
	}
	if state.Size > limits.File {
		state.Lost = tooLarge
	} else if _, err := s.put(text); err != nil {
		state.Lost = notStored
	}
}

// savedByUser reports whether the user has changed the file in this turn. If so, only later changes
// by tools are certainly not the user's. Its caller holds mu.
func (p *snapshot) savedByUser(path string) bool {
	_, ok := p.users[path]
	return ok || slices.ContainsFunc(p.saves, func(s save) bool { return s.path == path })
}

// byUser reports whether the user, and no command, left a path in the state now, which differs from
// the recorded state. Its caller holds mu.
func (p *snapshot) byUser(path string, now State, commands spans) bool {
	if users, ok := p.users[path]; ok && users.same(now) {
		return true
	}
	for _, s := range p.saves {
		if s.path == path && s.text.same(now) {
			return true
		}
	}
	found, there := p.k.Files.Entry(path)
	if !there {
		return false
	}
	if now.Editor {
		if disk, err := p.k.Files.LookOnDisk(p.k.ctx, path); err == nil && !stateOf(disk).same(now) {
			return true // it is not saved
		}
	}
	return stampsTell && !commands.hold(stampOf(found.Info).Changed) && !p.movedByCommand(path, stampOf(found.Info), commands)
}

// movedByCommand reports whether a command has renamed a folder with a path in it, which has this
// stamp. Its caller holds mu.
func (p *snapshot) movedByCommand(path string, now stamp, commands spans) bool {
	if p.base == nil || p.base.covers(path) || now.Inode == 0 || now.Changed >= p.base.stamped {
		return false
	}
	for old, e := range p.base.entries {
		if e.stamp != now {
			continue
		}
		if _, there := p.k.Files.Entry(old); !there {
			return p.goneByCommand(p.base, old, commands)
		}
	}
	return false
}

// recordSuperseded records the state of a path before the next snapshot changed it. The last
// scan of this snapshot runs in parallel and may be too late to see it.
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

// didWrite records the state of a path after a tool wrote it.
func (p *snapshot) didWrite(path string, image workspace.Image) {
	state := stateOf(image)
	if done, err := p.k.store.writing(); err == nil { // else a restore cannot merge
		defer done()
		p.k.store.keepText(&state, image.Text, p.k.Limits())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c, _ := p.record.change(path)
	c.After, c.Begun, c.noted = state, false, now()
	delete(p.users, path)
	p.add(c)
	p.k.store.remember(p.k.Session, path, state)
}

// add appends a change to the record's file. Its caller holds mu.
func (p *snapshot) add(c *Change) {
	if !p.written {
		return
	}
	if err := p.k.store.add(p.k.Session, p.record.ID, c); err != nil {
		p.k.report("A change is missing from this turn's checkpoint: %s.", p.k.store.why(err))
		p.unadded = append(p.unadded, c.Path)
	}
}

// scanSoon scans the changes of commands in the background to shorten the last scan. It limits the
// share of time used by scans.
func (p *snapshot) scanSoon() {
	p.mu.Lock()
	rest := p.again && p.rests() // else the end of the turn would wait for the first scan of its changes
	p.mu.Unlock()
	if rest {
		return
	}
	select {
	case p.scanning <- struct{}{}:
	default:
		return // the last scan sees it too
	}
	p.k.work.Go(func() {
		defer func() { <-p.scanning }()
		p.scan(p.k.ctx)
	})
}

// end starts the last scan, after which the snapshot is written. It does not wait.
func (p *snapshot) end() {
	p.mu.Lock()
	needed := p.blind || p.used
	p.mu.Unlock()
	if !needed {
		p.skip()
	}
	p.firstScan.Do(func() { close(p.ready) }) // there was no scan, and there will be none
	p.k.work.Go(func() {
		<-p.ready
		p.scanning <- struct{}{} // no other scan runs anymore
		if p.before != nil {
			<-p.before.done
			p.before = nil
		}
		p.scan(p.k.ctx)
		p.finish()
		p.keepMissed()
		p.skip()
		close(p.done)
		p.k.store.tidyUp(p.k.ctx, p.k.Limits())
	})
}

// finish closes and completes the record.
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
	if p.used && p.base != nil && p.blind && p.unseen.why != "" {
		p.miss("", p.unseen.why)
	}
	done, err := p.k.store.writing()
	if err != nil {
		p.missUnadded(err)
		return // the record stays unfinished; the next process completes it
	}
	defer done()
	p.k.completeWrites(p.record)
	p.record.tidy()
	base := p.record.Base
	p.record.Base, p.record.Owner = "", ""
	if !p.record.worth() {
		err = p.k.store.removeRecord(p.k.Session, p.record.ID)
	} else {
		err = p.k.store.write(p.k.Session, p.record)
	}
	if err != nil {
		p.k.report("A checkpoint may be missing: %s.", p.k.store.why(err))
		p.missUnadded(err)
	} else if base != "" {
		_ = os.Remove(p.k.store.treeFile(base)) // else the next clean-up removes it
		if p.base != nil {
			p.k.store.unpinGitObjects(p.base)
		}
	}
}

// missUnadded records the changes missing from the record's file as missed. Its caller holds mu.
func (p *snapshot) missUnadded(err error) {
	for _, path := range p.unadded {
		p.miss(path, p.k.store.why(err))
	}
}

// completeWrites reads the current state of changes with an unknown result. The journal does not
// report a reverted batch, or a write of a killed process.
func (k *Keeper) completeWrites(r *record) {
	for _, c := range r.changes {
		if !c.Begun {
			continue
		}
		c.Begun = false
		if now, err := k.Files.Look(context.WithoutCancel(k.ctx), c.Path); err == nil {
			c.After = stateOf(now)
			k.store.keepText(&c.After, now.Text, k.Limits())
		}
	}
}

// scan records the changes of commands so far. If no command ran since the last scan and none runs
// in the background, or there is no first scan, it does nothing.
func (p *snapshot) scan(ctx context.Context) {
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
		p.scanned, p.took, p.again = time.Now(), time.Since(began), true
	}()
	done, err := p.k.store.writing()
	if err != nil {
		p.notSeen(err)
		return
	}
	defer done()
	limits := p.k.Limits()
	next, err := p.k.store.scan(ctx, p.k.Confine, p.k.Files, p.k.newest(), limits)
	if err != nil {
		p.notSeen(err)
		if ctx.Err() == nil {
			p.k.report("What commands have changed could not be found out: %v.", err)
		}
		return
	}
	p.k.store.saveBlobs(p.k.ctx, p.k.Files, next, limits)
	p.compare(base, next, limits, false)
	p.mu.Lock()
	p.newest = next
	p.mu.Unlock()
}

// notSeen records the failure of a scan. The next scan repeats it.
func (p *snapshot) notSeen(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blind, p.unseen.why = true, p.k.store.why(err)
}

// compare records the differences between base and next. If dead is set, it is not known when
// commands ran.
func (p *snapshot) compare(base, next *tree, limits Limits, dead bool) {
	paths := p.alsoNoted(difference(base, next))
	p.k.store.fetch(p.k.ctx, p.k.Confine, base, paths)
	p.k.store.fetch(p.k.ctx, p.k.Confine, next, paths)
	running := p.k.running()
	p.mu.Lock()
	defer p.mu.Unlock()
	c := comparison{snapshot: p, base: base, next: next, limits: limits, dead: dead, spans: append(running, p.past...)}
	p.applySaves(base, c.spans)
	for _, path := range paths {
		if strings.HasSuffix(path, string(filepath.Separator)+".gitignore") {
			c.rules = true
		}
	}
	for _, path := range paths {
		c.path(path)
	}
	p.addLatePaths(base, next)
}

// alsoNoted adds the paths changed by tools, because a command may have reverted them, and the
// paths changed by the user.
func (p *snapshot) alsoNoted(paths []string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.record.changes {
		paths = append(paths, c.Path)
	}
	for _, s := range p.saves {
		paths = append(paths, s.path)
	}
	for path := range p.users {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// running returns the times of the running commands.
func (k *Keeper) running() (all spans) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.open {
		all = append(all, [2]int64{c.began, now()})
	}
	return all
}

// addLatePaths corrects the Before of tools' changes recorded after a command ran: the initial tree
// holds the state before the command. Its caller holds mu.
func (p *snapshot) addLatePaths(base, next *tree) {
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

// comparison records the differences between two trees.
type comparison struct {
	*snapshot
	base, next *tree
	limits     Limits
	spans      spans
	dead       bool             // it is not known when commands ran
	rules      bool             // a .gitignore has changed
	gone       map[stamp]string // paths removed since the base; nil: not made
}

// path records the change of a path, if any, if this session made it.
func (c *comparison) path(path string) {
	old, was := c.base.entries[path]
	now, is := c.next.entries[path]
	if !is {
		if !c.k.Files.Holds(path) {
			return // its folder is no longer in the workspace
		}
		if now, is = c.k.store.saveEntry(c.k.Files, path, c.limits); is && !was {
			return
		}
	}
	if was && is && old.stamp == now.stamp && !old.hasSum() {
		return // the old content is not known, but the file is unchanged
	}
	var before, after State
	if was {
		before = old.state()
	}
	if is {
		after = now.state()
	}
	if was && is && old.stamp == now.stamp {
		after = before // the scan may not know the new content, because it is written right now
	}
	left, superseded := c.left[path]
	if superseded {
		after = left
	}
	known := c.record.byPath[path]
	users, changed := c.users[path]
	from := before
	switch {
	case changed:
		from = users
	case known != nil:
		from = known.After
	}
	if from.same(after) {
		return
	}
	moved := ""
	if !was && is {
		moved = c.movedFrom(now)
	}
	if !was && is && moved == "" && now.Changed < c.base.stamped {
		return // it existed before and is no longer ignored
	}
	if c.others(path, after) {
		return
	}
	if known != nil && (known.Begun || known.noted >= c.next.began) {
		return // the write of a tool since the scan began is newer
	}
	ours := superseded || c.ours(path, moved, now, is)
	if !ours && (known != nil || !c.dead) {
		if !c.dead && after.Lost != changedFor { // else the next scan knows the content
			c.users[path] = after
		}
		return
	}
	change := known
	switch {
	case change == nil:
		change, _ = c.record.change(path)
		change.Before = from
		change.Unsure = !ours || c.rules && !was && moved == ""
	case changed:
		change.next(users)
		change.Unsure = false
	default:
		change.Unsure = false
	}
	delete(c.users, path)
	change.After = after
	c.add(change)
}

// ours reports whether a command can have made the change: a command ran when the file changed,
// when it was deleted, or when a folder around it was moved. moved is its path before the move.
func (c *comparison) ours(path, moved string, now entry, is bool) bool {
	switch {
	case !stampsTell:
		return true
	case moved != "":
		return c.goneByCommand(c.base, moved, c.spans)
	case is:
		return c.spans.hold(now.Changed)
	}
	return c.goneByCommand(c.base, path, c.spans)
}

// goneByCommand reports whether a command can have removed a path of the base. The time of the
// removal is not known exactly. It is after the last scan with the path, and not later than the
// folder's last change. Its caller holds mu.
func (p *snapshot) goneByCommand(base *tree, path string, commands spans) bool {
	first, last := base.began, int64(math.MaxInt64)
	if p.newest != nil && p.newest.covers(path) {
		first = p.newest.began
	}
	for dir := filepath.Dir(path); p.k.Files.Holds(dir); dir = filepath.Dir(dir) {
		if folder, there := p.k.Files.Entry(dir); there {
			last = stampOf(folder.Info).Changed
			break
		}
	}
	return slices.ContainsFunc(commands, func(s [2]int64) bool { return s[0] <= last && s[1] >= first })
}

// movedFrom returns a new entry's path in the base if a folder around it was renamed, which does
// not change the file itself. If there is none, it returns "".
func (c *comparison) movedFrom(now entry) string {
	if c.gone == nil {
		c.gone = map[stamp]string{}
		for path, old := range c.base.entries {
			if _, is := c.next.entries[path]; !is {
				c.gone[old.identity()] = path
			}
		}
	}
	if now.Inode == 0 || now.kind() != kindFolder && now.Changed >= c.base.stamped {
		return ""
	}
	return c.gone[now.identity()]
}

// identity returns the part of the stamp unchanged by a rename of a folder around the entry. The
// times of a folder also change with its content.
func (e entry) identity() stamp {
	if e.kind() == kindFolder {
		return stamp{Inode: e.Inode, Mode: e.Mode}
	}
	return e.stamp
}

// others reports whether another session left the path in the state after.
func (c *comparison) others(path string, after State) bool {
	return c.k.store.leftByOthers(c.k.Session, c.started, path, after)
}
