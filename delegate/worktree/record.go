package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// Recovery recovers the worktrees left by dead servers.
type Recovery struct {
	Records string       // the folder of records; see [RecordsOf]
	Sandbox *sandbox.Box // bounds git
	// Saved gets the changes of a subagent before its worktree is removed.
	Saved func(ctx context.Context, id string, m *Merge)
	// Failed is called with the error for a worktree left on the disk.
	Failed func(folder string, err error)
}

// Run saves the changes in the worktrees of dead servers, and removes these worktrees. If
// there are none, it starts no program.
func (r Recovery) Run(ctx context.Context) {
	for _, left := range deadRecords(r.Records) {
		r.one(ctx, left)
	}
}

func (r Recovery) one(ctx context.Context, left *record) {
	n, err := left.read()
	if err != nil {
		left.remove() // its server died before the subagent started
		return
	}
	t := &Tree{
		Repo:   gitrepo.Repo{Top: n.Top, GitDir: n.GitDir, Common: n.Common},
		Config: Config{ID: n.Task, Output: n.Output, Sandbox: r.Sandbox},
		root:   n.Root, record: left, before: n.Before, commit: n.Commit,
	}
	t.dir, err = scratch.TakeOver(filepath.Dir(n.Root))
	if errors.Is(err, fs.ErrNotExist) {
		t.Remove()
		return
	}
	if err == nil {
		t.git, err = newGit([]string{n.Top, n.Root}, r.Sandbox.In(t.root, t.Top, t.GitDir, t.Common))
	}
	var m *Merge
	if err == nil {
		m, err = t.Merge(ctx, false)
	}
	if err == nil {
		r.Saved(ctx, n.Task, m)
	} else if _, gone := os.Stat(n.Top); gone == nil || left.age() < keptWithout {
		if gone == nil {
			r.Failed(t.root, err)
		}
		t.leave()
		return
	}
	t.Remove()
}

// keptWithout is how long a worktree without its repository is kept. The repository may have
// been renamed: see [Move].
const keptWithout = 14 * 24 * time.Hour

// leave releases a worktree for recovery by another server.
func (t *Tree) leave() {
	if t.dir != nil {
		t.dir.Leave()
	}
	t.git.close()
	t.record.leave()
}

// record holds the data of a worktree needed after the death of its server. It is a directory
// beside the store, not accessible to commands. The server locks it while it runs.
type record struct {
	path  string
	texts *safefile.Folder // of files as the task began, by git's names of them
	lock  *os.File
}

// recorded is the content of a record.
type recorded struct {
	Task   string           `json:"task"`
	Root   string           `json:"root"`
	Top    string           `json:"top"`
	GitDir string           `json:"git_dir"`
	Common string           `json:"common_dir"`
	Commit string           `json:"commit"`
	Output string           `json:"output"`
	Before map[string]state `json:"began"`
}

const (
	recordName = "note.json"
	lockName   = "lock"
	textsDir   = "texts"
)

// recordLimit bounds a record, which lists all files of the worktree.
const recordLimit = 256 << 20

// RecordsOf returns the folder of records of the servers sharing a store.
func RecordsOf(storePath string) string { return filepath.Join(filepath.Dir(storePath), "worktrees") }

func newRecord(records, name string) (n *record, err error) {
	n = &record{path: filepath.Join(records, name)}
	if err := os.MkdirAll(filepath.Join(n.path, textsDir), 0o700); err != nil {
		return nil, fmt.Errorf("recording the worktree: %w", err)
	}
	if n.lock, err = scratch.Lock(filepath.Join(n.path, lockName), os.O_CREATE|os.O_EXCL); err == nil {
		n.texts, err = safefile.OpenFolder(filepath.Join(n.path, textsDir))
	}
	if err != nil {
		n.remove()
		return nil, fmt.Errorf("recording the worktree: %w", err)
	}
	return n, nil
}

// deadRecords locks and returns the records of dead servers.
func deadRecords(records string) (dead []*record) {
	entries, err := os.ReadDir(records)
	if err != nil {
		return nil // there is none
	}
	for _, e := range entries {
		n := &record{path: filepath.Join(records, e.Name())}
		if !safefile.IsName(e.Name()) || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if n.lock, err = scratch.Lock(filepath.Join(n.path, lockName), 0); err != nil {
			continue // its server runs, or is creating it
		}
		if n.texts, err = safefile.OpenFolder(filepath.Join(n.path, textsDir)); err != nil {
			n.leave()
			continue
		}
		dead = append(dead, n)
	}
	return dead
}

// read returns the content of a record.
func (n *record) read() (content recorded, err error) {
	text, err := safefile.ReadBelow(n.path, recordName, recordLimit)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	switch {
	case err != nil:
	case !safefile.IsName(content.Task), !filepath.IsAbs(content.Root), !filepath.IsAbs(content.Top), !filepath.IsAbs(content.Common),
		!filepath.IsAbs(content.Output), filepath.Base(content.Root) != filepath.Base(n.path):
		err = errors.New("the record is damaged")
	}
	return content, err
}

// age returns how old the record is.
func (n *record) age() time.Duration {
	info, err := os.Lstat(filepath.Join(n.path, recordName))
	if err != nil {
		return keptWithout
	}
	return time.Since(info.ModTime())
}

func (n *record) leave() {
	if n.texts != nil {
		n.texts.Close() // nothing is written after this
	}
	if n.lock != nil {
		filelock.Release(n.lock)
	}
}

// remove removes the record. A nil record is valid.
func (n *record) remove() {
	if n == nil {
		return
	}
	_ = os.Remove(filepath.Join(n.path, recordName)) // first, because a partly removed record is useless
	n.leave()
	_ = os.RemoveAll(n.path) // the next server tries again
}

// writeRecord writes the data for a later server to save the changes.
func (t *Tree) writeRecord() error {
	err := t.record.write(recorded{t.ID, t.root, t.Top, t.GitDir, t.Common, t.commit, t.Output, t.before})
	if err == nil {
		err = t.dir.Keep()
	}
	if err != nil {
		return fmt.Errorf("recording the worktree: %w", err)
	}
	return nil
}

// write writes the content atomically.
func (n *record) write(content recorded) error {
	data, err := json.Marshal(content)
	if err == nil {
		err = safefile.Replace(filepath.Join(n.path, recordName), data, 0o600)
	}
	return err
}

// kind is the kind of the scratch folders of worktrees.
const kind = "tree"

// prefix is the prefix of the names of our worktrees.
const prefix = "hermes-"

// RemoveDead removes git's folders for our removed worktrees. common is the git folder. The
// scratch folder of a worktree exists as long as its server.
func RemoveDead(common string) {
	scratch.Sweep()
	folder, err := safefile.OpenFolder(common)
	if err != nil {
		return
	}
	defer folder.Close()                                     // only read
	entries, _ := folder.ReadDir("worktrees", mostWorktrees) // none: nothing to do
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		text, err := folder.Read(filepath.Join("worktrees", e.Name(), "gitdir"), safefile.Line)
		file := filepath.FromSlash(strings.TrimSpace(string(text)))
		if err != nil || !filepath.IsAbs(file) {
			continue
		}
		if _, err := os.Lstat(filepath.Dir(filepath.Dir(file))); errors.Is(err, fs.ErrNotExist) {
			_ = forget(common, e.Name()) // the next call tries again
		}
	}
}

// mostWorktrees limits the worktrees to check in a repository.
const mostWorktrees = 1000
