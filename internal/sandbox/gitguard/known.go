package gitguard

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// Wrote is a change made by the user in the editor, or approved by the user.
type Wrote struct {
	Path string // absolute
	// Old is the text before the change. Nil: none, or not known.
	Old []byte
	New []byte
	// Gone is set if the file was removed.
	Gone bool
	// Unsaved is set if the old text is still on disk.
	Unsaved bool
}

// mostWritten bounds the kept writes. Further writes are reviewed.
const mostWritten = 2000

// written is a write of a reviewed place.
type written struct {
	Wrote
	at   time.Time
	sums []string    // of the texts by which an editor may have written it
	mode fs.FileMode // of a new file
	// whole says that the text before was reviewed. Else only the git settings added by the write are known.
	whole bool
	// settings are the git settings added by the write, if they were read.
	settings []setting
	read     bool
}

// Note records a known write: a change made neither by a command nor by a standing program. As long
// as the file has this text, no review asks about it. If the old text was not reviewed, nothing is
// recorded: a program's text would count as the user's.
func (g *Guard) Note(w Wrote) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	r, was := &g.review, g.review.writes[w.Path]
	if !g.relevant(w.Path) || len(r.writes) >= mostWritten && was == nil {
		return
	}
	one := &written{Wrote: w, at: now, sums: sumsOf(w.New), mode: newMode(w.Path), whole: g.reviewedText(w)}
	if was.has(w.New) || was.has(w.Old) { // the change goes on
		one.Old, one.whole = was.Old, one.whole || was.whole
	}
	if !one.whole && (!isSettings(w.Path) || w.Old == nil) {
		return
	}
	if r.writes == nil {
		r.writes = map[string]*written{}
	}
	r.writes[w.Path] = one
	if w.Unsaved || r.approved == nil {
		return
	}
	for key, before := range r.approved {
		if mark, ok := g.expected(key, before, one); ok && mark == "" {
			delete(r.approved, key)
		} else if ok {
			r.approved[key] = mark
		}
	}
	r.journal.write(r.approved)
}

// has reports whether a write has made a text.
func (w *written) has(text []byte) bool { return w != nil && !w.Gone && bytes.Equal(w.New, text) }

// sumsOf returns the sums of the bytes by which editors save a text.
func sumsOf(text []byte) (sums []string) {
	crlf := bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	for _, one := range [][]byte{text, crlf} {
		for _, mark := range []string{"", "\ufeff"} {
			sum := sha256.Sum256(append([]byte(mark), one...))
			sums = append(sums, hex.EncodeToString(sum[:16]))
		}
	}
	return sums
}

// relevant reports whether a file can be part of a reviewed item. It is called with the mutex.
func (g *Guard) relevant(path string) bool {
	if is, _ := settingsPlace(path); is || isSettings(path) {
		return true
	}
	for _, root := range fspath.Existing(g.cfg.Roots()) {
		if inPlace(path, root) || slices.Contains(ours(root), path) {
			return true
		}
	}
	for key := range g.review.approved {
		kind, at, _ := parts(key)
		if at == path || kind == hookItem && filepath.Dir(at) == filepath.Dir(path) {
			return true
		}
	}
	return false
}

// isSettings reports whether a path can be a file of git's settings.
func isSettings(path string) bool {
	name := filepath.Base(path)
	return name == "config" || name == "config.worktree" || name == ".gitconfig"
}

// reviewedText reports whether the text before a write was reviewed or is itself a known write. It
// is called with the mutex.
func (g *Guard) reviewedText(w Wrote) bool {
	if len(w.Old) == 0 && w.Old != nil || g.review.approved == nil {
		return true
	}
	sums, there := sumsOf(w.Old), false
	fits := func(mark string) {
		_, sum, _ := strings.Cut(mark, " ")
		there = true
		if slices.Contains(sums, sum) {
			sums = nil
		}
	}
	for key, mark := range g.review.approved {
		kind, path, _ := parts(key)
		if kind == settingItem || mark == missing {
			continue
		}
		if path == w.Path {
			fits(mark)
		}
		for _, f := range g.copies.list(path, mark) {
			if f.path == w.Path {
				fits(f.mark)
			}
		}
	}
	if w.Old == nil {
		return !there
	}
	return sums == nil
}

// newMode returns the mode for restoring a new file. The file is not executable, because no
// approval showed it.
func newMode(path string) fs.FileMode {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return info.Mode().Perm() &^ 0o111
	}
	return 0o600
}

// mark returns the mark of the written file. mode is the file's mode before the write; empty: the
// file is new.
func (w *written) mark(mode string) string { return cmp.Or(mode, w.mode.String()) + " " + w.sums[0] }

// made reports whether the write has turned a file's mark before into mark. A new file must not be
// executable.
func (w *written) made(before, mark string) bool {
	mode, sum, _ := strings.Cut(mark, " ")
	was, _, _ := strings.Cut(before, " ")
	switch {
	case w == nil || !w.whole:
		return false
	case w.Gone:
		return mark == ""
	case before == "" || !strings.HasPrefix(was, "-"):
		return strings.HasPrefix(mode, "-") && !strings.Contains(mode, "x") && slices.Contains(w.sums, sum)
	}
	return was == mode && slices.Contains(w.sums, sum)
}

// expected returns the mark of an item after a write. If the write does not belong to the item, or
// the mark is unknown, ok is false. A removed file has the mark "". It is called with the mutex.
func (g *Guard) expected(key, before string, w *written) (mark string, ok bool) {
	kind, path, _ := parts(key)
	mode, _, _ := strings.Cut(before, " ")
	switch {
	case kind == settingItem || kind == todoItem || kind == pointerItem || kind == cutItem || !w.whole:
		return "", false
	case path == w.Path && strings.HasPrefix(mode, "-"):
		if w.Gone {
			return "", true
		}
		mark = w.mark(mode)
		g.copies.add(mark, w.content(mode))
		return mark, true
	case mode == "link":
		at := " " + w.Path + " "
		i := strings.LastIndex(before, at)
		if i < 0 || w.Gone {
			return "", false
		}
		mode, _, _ := strings.Cut(before[i+len(at):], " ")
		return before[:i+len(at)] + w.mark(mode), true
	case fspath.Under(w.Path, path):
		return g.copies.with(path, before, w)
	}
	return "", false
}

// content returns the written file.
func (w *written) content(mode string) content {
	one := content{mode: w.mode, text: w.New}
	if mode != "" {
		one.mode = modeOf(mode)
	}
	return one
}

// modeOf reads the mode of a mark.
func modeOf(text string) (mode fs.FileMode) {
	for i, r := range "rwxrwxrwx" {
		if len(text) == 10 && rune(text[i+1]) == r {
			mode |= 1 << (8 - i)
		}
	}
	return mode
}

// known reports whether known writes have turned an item's value from before into value. It is
// called with the mutex.
func (g *Guard) known(kind, path, name, before, value string) bool {
	writes := g.review.writes
	switch {
	case unreadable(value):
		return false
	case kind == settingItem:
		w := writes[path]
		for _, one := range strings.Split(value, "\n") {
			if !slices.Contains(strings.Split(before, "\n"), one) && (name == "" || w == nil || !slices.Contains(w.settings, setting{name, manyLines(one)})) {
				return false
			}
		}
		return true
	case kind == todoItem || kind == pointerItem || kind == cutItem:
		return false
	case strings.HasPrefix(value, "link "):
		for at, w := range writes {
			i := strings.LastIndex(value, " "+at+" ")
			if end := i + len(at) + 2; i >= 0 && len(before) > end && before[:end] == value[:end] && w.made(before[end:], value[end:]) {
				return true
			}
		}
		return false
	case strings.HasPrefix(value, "-"):
		return writes[path].made(before, value)
	}
	return g.knownFolder(path, before, value)
}

// knownFolder is known of a folder. It is called with the mutex.
func (g *Guard) knownFolder(path, before, value string) bool {
	was, ok := g.copies.marks(path, before)
	now, there := g.copies.marks(path, value)
	if !there || !ok && (before != "" || len(now) == 0) {
		return false
	}
	for path, mark := range now {
		if was[path] != mark && !g.review.writes[path].made(was[path], mark) {
			return false
		}
	}
	for path := range was {
		if w := g.review.writes[path]; now[path] == "" && (w == nil || !w.Gone) {
			return false
		}
	}
	return true
}

// wrote returns the value of a new item, if known writes have made it. Later changes by a program
// can then be undone. It is called with the mutex.
func (g *Guard) wrote(kind, path string) (value string, ok bool) {
	if w := g.review.writes[path]; w != nil && w.whole && !w.Gone && !w.Unsaved && kind != settingItem && kind != pointerItem {
		value = w.mark("")
		g.copies.add(value, w.content(""))
		return value, true
	}
	for at, w := range g.review.writes {
		if fspath.Under(at, path) && at != path && w.whole && !w.Unsaved {
			value, ok = g.copies.with(path, value, w)
		}
	}
	return value, ok
}

// forgetWrites drops the writes at a path and below, because another state of it counts as
// reviewed. It is called with the mutex.
func (r *review) forgetWrites(path string) {
	for at := range r.writes {
		if fspath.Under(at, path) {
			delete(r.writes, at)
		}
	}
}

// judgeWrites drops the writes of a time when it was not known what a killed server had reviewed, if they changed something else. It is
// called with the mutex.
func (g *Guard) judgeWrites() {
	for path, w := range g.review.writes {
		if w.whole = g.reviewedText(w.Wrote); !w.whole && !isSettings(path) {
			delete(g.review.writes, path)
		}
	}
}

// forgetWritesBefore drops the writes before a scan, if the whole scan counts as reviewed. It is
// called with the mutex.
func (r *review) forgetWritesBefore(at time.Time) {
	for path, w := range r.writes {
		if w.at.Before(at) {
			delete(r.writes, path)
		}
	}
}

// readWrites reads the git settings added by known writes.
func (g *Guard) readWrites() {
	g.mu.Lock()
	var unread []*written
	for _, w := range g.review.writes {
		if isSettings(w.Path) && !w.read && !w.Gone {
			unread = append(unread, w)
		}
	}
	g.mu.Unlock()
	for _, w := range unread {
		old, now := g.listText(w.Old), g.listText(w.New)
		g.mu.Lock()
		w.read = true
		w.settings = slices.DeleteFunc(now, func(s setting) bool { return slices.Contains(old, s) })
		g.mu.Unlock()
	}
}

// listText reads the settings of a text in the sandbox. If git cannot read it, there are none.
func (g *Guard) listText(text []byte) (all []setting) {
	git, err := g.git()
	if err != nil || len(text) == 0 {
		return nil
	}
	out, err := g.cfg.Inside(context.Background(), `"$1" config --file - --no-includes --null --list`, text, nil, git)
	if err != nil {
		return nil
	}
	for one := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		name, value, _ := strings.Cut(one, "\n")
		all = append(all, setting{name, value})
	}
	return all
}

// list returns the files of a folder by its mark.
func (c *copies) list(path, mark string) []copied {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.folders[folder{path, mark}]
}

// marks returns the marks of the files of a folder, by path. If mark is unknown, ok is false.
func (c *copies) marks(path, mark string) (files map[string]string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, ok := c.folders[folder{path, mark}]
	files = map[string]string{}
	for _, f := range list {
		files[f.path] = f.mark
	}
	return files, ok
}

// with records a folder's state after a write, and returns its mark. If the files of the folder are
// unknown, ok is false. A missing folder has the mark "".
func (c *copies) with(dir, mark string, w *written) (after string, ok bool) {
	files, ok := c.marks(dir, mark)
	if !ok && mark != "" {
		return "", false
	}
	mode, _, _ := strings.Cut(files[w.Path], " ")
	if mode == "link" {
		return "", false
	}
	delete(files, w.Path)
	if !w.Gone {
		files[w.Path] = w.mark(mode)
		c.add(files[w.Path], w.content(mode))
	}
	sum, list := sha256.New(), []copied{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s\x00%s\x00", path, files[path])
		list = append(list, copied{path, files[path]})
	}
	after = "written " + hex.EncodeToString(sum.Sum(nil))
	c.folder(dir, after, list)
	return after, true
}
