package checkpoint

import (
	"bytes"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Saved is a document saved by the user in the editor.
type Saved struct {
	Path string
	// Base is the text of the document before the user changed it. It was on the disk then, or a
	// tool made it. Nil: it is not known.
	Base []byte
	Text []byte
}

// save is a save whose contents are in memory.
type save struct {
	path       string
	at         int64
	base, text State
	baseKnown  bool
	baseText   []byte
	savedText  []byte
}

// Saved reports a document saved by the user. The user's changes in it are not recorded as changes
// of the session, even if a command runs.
func (k *Keeper) Saved(d Saved) {
	k.mu.Lock()
	p := k.snapshot
	k.mu.Unlock()
	if p == nil {
		return
	}
	disk, err := k.Files.LookOnDisk(k.ctx, d.Path)
	if err != nil || !disk.There() || !disk.Mode.IsRegular() || disk.Text == nil {
		return
	}
	s := save{path: d.Path, at: now(), baseKnown: d.Base != nil}
	s.savedText, s.baseText = onDisk(disk.Text, d.Text, d.Text), onDisk(disk.Text, d.Text, d.Base)
	s.text = stateOf(workspace.Image{Mode: disk.Mode, Text: s.savedText, Size: int64(len(s.savedText))})
	s.base = stateOf(workspace.Image{Mode: disk.Mode, Text: s.baseText, Size: int64(len(s.baseText))})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	// The user has saved it again, and nothing else has changed it since.
	i := slices.IndexFunc(p.saves, func(o save) bool { return o.path == s.path && s.baseKnown && o.text.same(s.base) })
	if i >= 0 {
		s.base, s.baseText, s.baseKnown, s.at = p.saves[i].base, p.saves[i].baseText, p.saves[i].baseKnown, p.saves[i].at
		p.saves = slices.Delete(p.saves, i, i+1)
	}
	p.saves = append(p.saves, s)
}

// onDisk returns the bytes of a text on the disk. Editors hold documents as UTF-8; saved is its
// text, and disk are its bytes.
func onDisk(disk, saved, text []byte) []byte {
	mark := []byte("\ufeff")
	if bytes.Equal(disk, saved) {
		return text
	}
	charset := textenc.CharsetOf(disk)
	plain := charset.Decode(disk)
	if !bytes.Equal(bytes.TrimPrefix(plain, mark), bytes.TrimPrefix(saved, mark)) {
		return text // it was changed again
	}
	if bytes.HasPrefix(plain, mark) && !bytes.HasPrefix(text, mark) {
		text = slices.Concat(mark, text)
	}
	if coded, err := charset.EncodeEdit(disk, text); err == nil {
		return coded
	}
	return text
}

// takeSaves applies the saves of a recorded change's file. Its caller holds mu and prevents
// clean-ups.
func (p *snapshot) takeSaves(c *Change) {
	p.saves = slices.DeleteFunc(p.saves, func(s save) bool {
		if s.path != c.Path || s.at < c.first || c.Begun {
			return false
		}
		p.putSave(&s)
		last := c.After
		if users, ok := p.users[s.path]; ok {
			last = users
		}
		if s.baseKnown && !last.same(s.base) && p.used && s.at > c.noted && p.ranSinceScan(s.at) && !p.k.store.leftByOthers(p.k.Session, p.started, s.path, s.base) {
			if _, ok := p.users[s.path]; ok {
				c.next(last)
			}
			c.After = s.base // the change of a command
			p.add(c)
		}
		if !c.After.same(s.text) {
			p.users[s.path] = s.text
		}
		return true
	})
}

// ranSinceScan reports whether a command ran since the last scan, and before the given time.
// Earlier changes of commands are known. Its caller holds mu.
func (p *snapshot) ranSinceScan(before int64) bool {
	last := int64(0)
	switch {
	case p.newest != nil:
		last = p.newest.began
	case p.base != nil:
		last = p.base.began
	}
	return p.k.commands.since(last, before)
}

// putSave saves the contents of a save.
func (p *snapshot) putSave(s *save) {
	limits := p.k.Limits()
	p.k.store.keepText(&s.text, s.savedText, limits)
	if s.baseKnown {
		p.k.store.keepText(&s.base, s.baseText, limits)
	}
}

// applySaves applies the saves since the last scan. Its caller holds mu and prevents clean-ups.
func (p *snapshot) applySaves(base *tree, commands spans) {
	for _, c := range p.record.changes {
		p.takeSaves(c)
	}
	saves := p.saves
	p.saves = nil
	for _, s := range saves {
		p.putSave(&s)
		c := p.record.byPath[s.path]
		if c != nil && s.at >= c.first { // made by an earlier save
			p.saves = []save{s}
			p.takeSaves(c)
			p.saves = nil
			continue
		}
		var before State
		if e, ok := base.entries[s.path]; ok {
			before = e.state()
		}
		if users, ok := p.users[s.path]; ok && c == nil {
			before = users
		}
		// A command changed the file, the editor read it again, and then the user changed it.
		_, scanned := base.entries[s.path]
		byCommand := (scanned || p.k.Files.InScan(s.path)) && s.baseKnown && !before.same(s.base) && (before.Kind == "" || before.Sum != "") &&
			p.ranSinceScan(s.at) && slices.ContainsFunc(commands, func(x [2]int64) bool { return x[0] <= s.at }) &&
			!p.k.store.leftByOthers(p.k.Session, p.started, s.path, s.base)
		switch {
		case c != nil: // before a tool changed it, which began with the result
		case byCommand:
			c, _ = p.record.change(s.path)
			c.Before, c.After = before, s.base
			p.add(c)
			p.users[s.path] = s.text
		default:
			p.users[s.path] = s.text
		}
	}
}
