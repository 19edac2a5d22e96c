package workspace

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// unfinished records each temporary file of a workspace before it is made, in a file locked as long
// as the process lives. After a kill, [Sweep] reads the notes. Its methods are safe for concurrent
// use.
type unfinished struct {
	// Unfinished is our folder for the notes. If it is empty, nothing is recorded. Set it before
	// the first change.
	Unfinished string

	mu   sync.Mutex
	file *os.File // nil until the first note
	open int      // notes of unfinished files
}

// leftover is the note of a temporary file. Paths are relative to the folder.
type leftover struct {
	Folder string `json:"folder"`
	Temp   string `json:"temp"`
	Back   string `json:"back,omitempty"` // the original path of a file put aside; empty: it may be removed
	Into   string `json:"into,omitempty"` // the file written in place; Temp names the kept texts
}

const (
	tempPrefix = ".hermes-"
	tempSuffix = ".tmp"
)

func tempName() string { return tempPrefix + rand.Text()[:12] + tempSuffix }

// isTemp reports whether a name is a temporary file of a hermes-ls process.
func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// temp names a temporary file beside p, and records it. The caller calls done after the file is
// removed or renamed.
func (u *unfinished) temp(p place) (name string, done func()) {
	name = tempName()
	return name, u.noteTemp(p, name, "")
}

// noteTemp records name, beside p, as possibly left behind. A later note of the same name replaces
// an earlier note.
func (u *unfinished) noteTemp(p place, name, back string) (done func()) {
	if u.Unfinished == "" {
		return func() {}
	}
	return u.add(u.Unfinished, leftover{Folder: p.folder.path, Temp: filepath.Join(filepath.Dir(p.rel), name), Back: back})
}

// add writes a note. If it cannot be written, the change is made without it: only a
// kill at this moment could leave something behind.
func (u *unfinished) add(dir string, l leftover) (done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file == nil {
		u.file = newNotes(dir)
	}
	line, err := json.Marshal(l)
	if u.file == nil || err != nil {
		return func() {}
	}
	if _, err := u.file.Write(append(line, '\n')); err != nil {
		return func() {}
	}
	u.open++
	return sync.OnceFunc(u.done)
}

func (u *unfinished) done() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open--; u.open > 0 || u.file == nil {
		return
	}
	if _, err := u.file.Seek(0, io.SeekStart); err == nil {
		_ = u.file.Truncate(0) // notes of removed files do no harm
	}
}

// close removes the notes. Later notes are written to another file.
func (u *unfinished) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file == nil {
		return
	}
	_ = os.Remove(u.file.Name()) // else the next sweep removes it
	_ = u.file.Close()
	u.file = nil
}

// newNotes makes a locked file in dir. If it cannot be made, it returns nil.
func newNotes(dir string) *os.File {
	if os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	for range 3 {
		path := filepath.Join(dir, strconv.Itoa(os.Getpid())+"-"+rand.Text())
		f, err := scratch.Lock(path, os.O_CREATE|os.O_EXCL)
		if err != nil {
			continue
		}
		ours, err := f.Stat()
		if now, gone := os.Lstat(path); err == nil && gone == nil && os.SameFile(ours, now) {
			return f
		}
		_ = f.Close() // a sweep took it before it was locked
	}
	return nil
}

// UnfinishedIn returns the value of [Workspace.Unfinished] for a HERMES_HOME.
func UnfinishedIn(home string) string { return filepath.Join(home, "unfinished") }

// notesLimit is how much of a file of notes is read.
const notesLimit = 1 << 20

// Sweep removes the temporary files of killed processes, restores the files they had put aside, and
// completes their writes in place. dir is the value of [Workspace.Unfinished].
func Sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there is none yet
	}
	deadline := time.Now().Add(scratch.Inherited)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		f, err := scratch.LockLeft(path, makerOf(e.Name()), deadline)
		if err != nil {
			continue // its process lives
		}
		if text, err := io.ReadAll(io.LimitReader(f, notesLimit)); err == nil {
			for _, l := range leftovers(text) {
				l.clean(dir)
			}
		}
		_ = os.Remove(path)
		_ = f.Close()
	}
}

// makerOf returns the process id in the name of a file of notes, or 0 if there is none.
func makerOf(name string) int {
	pid, _, _ := strings.Cut(name, "-")
	n, _ := strconv.Atoi(pid)
	return n
}

// leftovers returns the last note of each temporary file.
func leftovers(text []byte) map[string]leftover {
	last := map[string]leftover{}
	for line := range bytes.Lines(text) {
		var l leftover
		if json.Unmarshal(line, &l) == nil && isTemp(filepath.Base(l.Temp)) { // a kill can cut the last line
			last[filepath.Join(l.Folder, l.Temp)] = l
		}
	}
	return last
}

// clean removes the file, or puts it back if nothing has taken its place.
func (l leftover) clean(notes string) {
	if l.Into != "" {
		l.complete(notes)
		return
	}
	root, err := safefile.OpenRoot(l.Folder)
	if err != nil {
		return
	}
	defer root.Close()
	if l.Back != "" {
		if _, err := root.Lstat(l.Back); errors.Is(err, fs.ErrNotExist) {
			_ = root.Rename(l.Temp, l.Back)
			return
		}
	}
	_ = root.Remove(l.Temp)
}
