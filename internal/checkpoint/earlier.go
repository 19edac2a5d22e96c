package checkpoint

import (
	"bytes"
	"crypto/sha1" // the ids of git's objects
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Earlier reports whether a session of the workspace has changed the file at path since this
// process began. It also reports whether the file had the text of its document before. file is nil if
// the file is gone. The workspace calls it while the keeper looks at files, so it must not take a lock held then.
func (k *Keeper) Earlier(path string, doc, file []byte) workspace.Earlier {
	docs, files := asOnDisk(doc), [][]byte{file}
	changed := false
	for _, o := range k.store.keepersOf(k.Files.Folders()) {
		t := o.base.Load()
		if t == nil {
			continue
		}
		if t.had(path, docs) {
			return workspace.EarlierSame
		}
		found, there := o.Files.Entry(path)
		changed = changed || file == nil && t.hasFile(path) || stampsTell && there && !t.had(path, files) && o.commands.hold(stampOf(found.Info).Changed)
	}
	switch had, left := k.store.recorded(k.Files.Folders(), path, docs, file); {
	case had:
		return workspace.EarlierSame
	case changed || left:
		return workspace.EarlierOther
	}
	return workspace.EarlierUnknown
}

// asOnDisk returns the texts of a file shown as doc in an editor: some editors keep Windows line
// ends apart from the text.
func asOnDisk(doc []byte) [][]byte {
	if bytes.ContainsRune(doc, '\r') {
		return [][]byte{doc}
	}
	return [][]byte{doc, bytes.ReplaceAll(doc, []byte("\n"), []byte("\r\n"))}
}

// keepersOf returns this process's open keepers with any of the folders.
func (s *Store) keepersOf(folders []string) (keepers []*Keeper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.keepers {
		if slices.ContainsFunc(k.Files.Folders(), func(f string) bool { return slices.Contains(folders, f) }) {
			keepers = append(keepers, k)
		}
	}
	return keepers
}

// recorded searches the checkpoints of all sessions of the folders since the store was opened. had
// reports whether the file at path had any of the texts before a change. left reports whether a
// session left it with its present content, or removed it if file is nil.
func (s *Store) recorded(folders []string, path string, docs [][]byte, file []byte) (had, left bool) {
	sessions, err := s.sessionsOf(folders)
	if err != nil {
		return false, false
	}
	sums := make([]string, len(docs))
	for i, doc := range docs {
		sums[i] = sumOf(doc)
	}
	present := sumOf(file)
	for _, session := range sessions {
		records, _ := s.records(session)
		for _, r := range records {
			c := r.byPath[path]
			if c == nil || r.Created.Before(s.opened) {
				continue
			}
			for _, step := range c.steps() {
				if slices.Contains(sums, step.Before.Sum) {
					return true, false
				}
				is := step.After.Sum == present
				if file == nil {
					is = step.After.Kind == ""
				}
				left = left || is && !c.Unsure
			}
		}
	}
	return false, left
}

// hasFile reports whether there was a file at path.
func (t *tree) hasFile(path string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.entries[path]
	return ok && e.kind() == kindFile
}

// had reports whether the file at path had any of the contents.
func (t *tree) had(path string, contents [][]byte) bool {
	t.mu.RLock()
	e, ok := t.entries[path]
	t.mu.RUnlock()
	return ok && e.kind() == kindFile && slices.ContainsFunc(contents, e.has)
}

// has reports whether a file has this content.
func (e entry) has(content []byte) bool {
	switch {
	case e.Size != int64(len(content)):
		return false
	case e.hasSum():
		return e.sum == sha256.Sum256(content)
	}
	return e.repo > 0 && e.git == sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...))
}

func (t *tree) size() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.entries)
}

// set changes an entry while others may read the tree.
func (t *tree) set(path string, e entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries[path] = e
}

// commandTimes are the times at which commands of a session ran. It is safe for concurrent use.
type commandTimes struct {
	mu   sync.Mutex
	open map[int]int64 // the starts of running commands
	past spans
}

func (c *commandTimes) begin(id int, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[int]int64{}
	}
	c.open[id] = at
}

func (c *commandTimes) end(id int, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.past = append(c.past, [2]int64{c.open[id], at})
	delete(c.open, id)
}

// since reports whether a command ran at a time after from, and before to.
func (c *commandTimes) since(from, to int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, began := range c.open {
		if began <= to {
			return true
		}
	}
	return slices.ContainsFunc(c.past, func(s [2]int64) bool { return s[1] >= from && s[0] <= to })
}

// hold reports whether a command may have made a change at the given time.
func (c *commandTimes) hold(changed int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, began := range c.open {
		if changed >= began {
			return true
		}
	}
	return c.past.hold(changed)
}
