package gitguard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// journal keeps on disk the reviewed items of a workspace, and whether a command runs. If the
// server is killed, the next server compares with it. A nil journal keeps nothing.
type journal struct {
	lock  *os.File // its first byte: whether a command runs
	path  string
	roots []string
	last  map[string]string
}

// reviewed is the content of a journal.
type reviewed struct {
	Roots []string          `json:"roots"`
	Items map[string]string `json:"items"`
	Taken []string          `json:"taken,omitempty"` // folders whose changes another session reviews
}

// journalLimit bounds the size of a journal.
const journalLimit = 64 << 20

// Values of the first byte of a lock.
const (
	idle = "-"
	busy = "+"
)

func journalDir(home string, roots []string) string {
	sum := sha256.Sum256([]byte(strings.Join(roots, "\x00")))
	return filepath.Join(home, "sandbox", hex.EncodeToString(sum[:12]))
}

// takeOverPause is how often a server looks for journals of killed servers.
const takeOverPause = time.Second

// takeJournal opens the journal of the session, if it is not open yet. If servers were killed while
// their commands ran in folders of this workspace, it returns the items of s as those servers
// reviewed them.
func (g *Guard) takeJournal(s *Scene) (left map[string]string) {
	if g.cfg.HermesHome == "" {
		return nil
	}
	roots := s.roots
	dir := journalDir(g.cfg.HermesHome, roots)
	g.mu.Lock()
	first, r := g.review.journal == nil, &g.review
	wait := g.closed || !first && time.Since(r.tookOver) < takeOverPause
	if !wait {
		r.tookOver = time.Now()
	}
	g.mu.Unlock()
	if wait {
		return nil
	}
	if !first {
		return takeOver(g.cfg.HermesHome, s, false)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil
	}
	g.tellLeft(dir)
	left = takeOver(g.cfg.HermesHome, s, true)
	name := fmt.Sprint(os.Getpid(), "-*.lock")
	f, err := os.CreateTemp(dir, name)
	if os.IsNotExist(err) && os.MkdirAll(dir, 0o700) == nil { // another session has ended and removed it
		f, err = os.CreateTemp(dir, name)
	}
	if err != nil {
		return left
	}
	path := f.Name()
	f.Close() // nothing was written
	lock, err := scratch.Lock(path, 0)
	if err != nil {
		return left
	}
	made := &journal{lock: lock, path: journalOf(path), roots: roots}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed && left == nil {
		made.close(true) // the session has ended meanwhile
		return nil
	}
	g.review.journal = made
	return left
}

// makerOf returns the process id of the server in a lock's name, or 0 if there is none.
func makerOf(lock string) int {
	pid, _, _ := strings.Cut(filepath.Base(lock), "-")
	n, _ := strconv.Atoi(pid)
	return n
}

func journalOf(lock string) string { return strings.TrimSuffix(lock, ".lock") + ".json" }

// readJournal reads the journal of a dead server. If no command of it ran, ok is false.
func readJournal(lock *os.File, path string) (kept reviewed, ok bool) {
	state := make([]byte, 1)
	if n, _ := lock.ReadAt(state, 0); n != 1 || string(state) != busy {
		return kept, false
	}
	text, err := safefile.Read(path, journalLimit)
	if err != nil {
		return kept, false
	}
	if err := json.Unmarshal(text, &kept); err == nil && kept.Items != nil {
		return kept, true
	}
	items := map[string]string{} // the journal of an earlier version
	if err := json.Unmarshal(text, &items); err != nil {
		return kept, false
	}
	return reviewed{Items: items}, true
}

// write saves the reviewed items. If it fails, the next server compares with fewer items, and
// asks.
func (j *journal) write(items map[string]string) {
	if j == nil || maps.Equal(j.last, items) && j.last != nil {
		return
	}
	if (reviewed{Roots: j.roots, Items: items}).save(j.path) == nil {
		j.last = maps.Clone(items)
	}
}

// save replaces a journal atomically.
func (r reviewed) save(path string) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = safefile.Replace(path, text, 0o600)
	}
	return err
}

// asideName ends the names of texts about undone changes.
const asideName = ".aside"

// leave notifies the user of changes undone without a review. If Ends is nil, it keeps the text for
// the next session.
func (g *Guard) leave(by, aside []string) {
	if len(aside) == 0 {
		return
	}
	g.mu.Lock()
	j := g.review.journal
	g.mu.Unlock()
	const most = 20
	text := strings.Join(aside[:min(len(aside), most)], ", ")
	if more := len(aside) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	text = fmt.Sprintf("changes of %s, or of yours meanwhile, were undone, because you could not be asked before the end. New files have a name that ends in %s now: %s", strings.Join(by, ", "), denied, text)
	if g.cfg.Ends != nil {
		g.cfg.Ends(text)
	} else if j != nil {
		os.WriteFile(strings.TrimSuffix(j.path, ".json")+asideName, []byte(text), 0o600) // the files are there
	}
}

// tellLeft shows the texts left by other servers.
func (g *Guard) tellLeft(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, "*"+asideName))
	for _, path := range left {
		text, err := safefile.Read(path, journalLimit)
		if os.Remove(path) == nil && err == nil {
			g.cfg.Notify(string(text))
		}
	}
}

// mark records whether a command runs.
func (j *journal) mark(running bool) {
	if j == nil {
		return
	}
	state := idle
	if running {
		state = busy
	}
	j.lock.WriteAt([]byte(state), 0) // as for write
}

// close removes the journal. If commands were left whose changes have not been reviewed, it
// stays for the next server.
func (j *journal) close(reviewed bool) {
	if j == nil {
		return
	}
	if reviewed {
		os.Remove(j.path)                                        // no command runs
		os.Remove(strings.TrimSuffix(j.path, ".json") + ".lock") // as above
		os.Remove(filepath.Dir(j.path))                          // others may use it
	}
	j.lock.Close() // was written
}
