package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Sweep looks, in the background, for the worktrees that dead servers of this store have
// left. [Children.Close] waits for it. Where there are none, no program is started.
// Git's memory of worktrees that are gone is removed from the repository around folder.
func (x *Children) Sweep(folder string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.closed {
		x.atWork.Go(func() { x.rescue(x.ctx, folder) })
	}
}

// rescue takes away what dead servers have left. What their subagents had changed is
// kept, and known to their sessions, before it returns.
func (x *Children) rescue(ctx context.Context, folder string) {
	x.sweeping.Lock()
	defer x.sweeping.Unlock()
	for _, note := range deadNotes(x.Store.Path()) {
		x.rescueFrom(ctx, note)
	}
	if r, err := gitrepo.Find(folder); err == nil {
		removeDead(r.Common)
	}
}

// rescueIn is rescue around the main folder of a session whose files are here.
func (x *Children) rescueIn(ctx context.Context, env *tools.Env) {
	if files := tools.Local(env.Files); files != nil {
		x.rescue(ctx, files.Folders()[0])
	}
}

// rescueFrom keeps what a dead server's subagent had changed.
func (x *Children) rescueFrom(ctx context.Context, note *treeNote) {
	n, err := note.read()
	if err != nil {
		note.remove() // its server died before the subagent began
		return
	}
	t := &tree{
		Repo: gitrepo.Repo{Top: n.Top, GitDir: n.GitDir, Common: n.Common}, task: &Task{ID: n.Task}, root: n.Root,
		note: note, began: n.Began, commit: n.Commit, env: &tools.Env{OutputDir: n.Output, Sandbox: x.Sandbox},
	}
	t.dir, err = scratch.TakeOver(filepath.Dir(n.Root))
	if errors.Is(err, fs.ErrNotExist) {
		t.remove()
		return
	}
	if err == nil {
		t.git, err = newGit([]string{n.Top, n.Root}, x.Sandbox.In(t.root, t.Top, t.GitDir, t.Common))
	}
	var m *Merge
	if err == nil {
		m, err = t.merge(ctx, false)
	}
	if err != nil {
		if _, gone := os.Stat(n.Top); gone == nil {
			x.Log.Warn("what a subagent of a dead server had changed was left where it is", "folder", t.root, "error", err)
			t.leave()
			return
		}
	} else {
		x.update(ctx, n.Task, func(kept *origin) {
			if kept.Changes == nil {
				kept.Changes = m
			}
		})
	}
	t.remove()
}

// leave gives a worktree up for another server to look at.
func (t *tree) leave() {
	if t.dir != nil {
		t.dir.Leave()
	}
	t.git.close()
	t.note.leave()
}

// treeNote is what has to be known of a worktree when its server is gone: a folder beside
// the store, which no command reaches. It is locked as long as its server lives.
type treeNote struct {
	path  string
	texts *safefile.Folder // of files as the task began, by git's names of them
	lock  *os.File
}

// noted is the content of a note.
type noted struct {
	Task   string           `json:"task"`
	Root   string           `json:"root"`
	Top    string           `json:"top"`
	GitDir string           `json:"git_dir"`
	Common string           `json:"common_dir"`
	Commit string           `json:"commit"`
	Output string           `json:"output"`
	Began  map[string]state `json:"began"`
}

const (
	noteName = "note.json"
	lockName = "lock"
	textsDir = "texts"
)

// noteLimit bounds a note, which names every file as the task began.
const noteLimit = 256 << 20

// notesIn is the folder of notes of those who share a store.
func notesIn(storePath string) string { return filepath.Join(filepath.Dir(storePath), "worktrees") }

func newTreeNote(storePath, name string) (n *treeNote, err error) {
	n = &treeNote{path: filepath.Join(notesIn(storePath), name)}
	if err := os.MkdirAll(filepath.Join(n.path, textsDir), 0o700); err != nil {
		return nil, fmt.Errorf("making a note of the worktree: %w", err)
	}
	if n.lock, err = scratch.Lock(filepath.Join(n.path, lockName), os.O_CREATE|os.O_EXCL); err == nil {
		n.texts, err = safefile.OpenFolder(filepath.Join(n.path, textsDir))
	}
	if err != nil {
		n.remove()
		return nil, fmt.Errorf("making a note of the worktree: %w", err)
	}
	return n, nil
}

// deadNotes takes over the notes of servers that have died.
func deadNotes(storePath string) (dead []*treeNote) {
	entries, err := os.ReadDir(notesIn(storePath))
	if err != nil {
		return nil // there is none
	}
	for _, e := range entries {
		n := &treeNote{path: filepath.Join(notesIn(storePath), e.Name())}
		if !safefile.IsName(e.Name()) || !strings.HasPrefix(e.Name(), treePrefix) {
			continue
		}
		if n.lock, err = scratch.Lock(filepath.Join(n.path, lockName), 0); err != nil {
			continue // its server lives, or just makes it
		}
		if n.texts, err = safefile.OpenFolder(filepath.Join(n.path, textsDir)); err != nil {
			n.leave()
			continue
		}
		dead = append(dead, n)
	}
	return dead
}

// read returns the content of a note.
func (n *treeNote) read() (content noted, err error) {
	text, err := safefile.ReadBelow(n.path, noteName, noteLimit)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	switch {
	case err != nil:
	case !safefile.IsName(content.Task), !filepath.IsAbs(content.Root), !filepath.IsAbs(content.Top), !filepath.IsAbs(content.Common),
		filepath.Base(content.Root) != filepath.Base(n.path):
		err = errors.New("the note is damaged")
	}
	return content, err
}

func (n *treeNote) leave() {
	if n.texts != nil {
		n.texts.Close() //nolint:errcheck // nothing is written through it later
	}
	if n.lock != nil {
		n.lock.Close() //nolint:errcheck // gives the lock up
	}
}

// remove takes the note away; the nil note is none.
func (n *treeNote) remove() {
	if n == nil {
		return
	}
	_ = os.Remove(filepath.Join(n.path, noteName)) // first: what is half removed is of no use
	n.leave()
	_ = os.RemoveAll(n.path) // the next server tries again
}

// writeNote writes down what a later server needs to keep the work in the worktree.
func (t *tree) writeNote(storePath string) error {
	data, err := json.Marshal(noted{t.task.ID, t.root, t.Top, t.GitDir, t.Common, t.commit, t.env.OutputDir, t.began})
	if err == nil {
		err = os.WriteFile(filepath.Join(t.note.path, noteName), data, 0o600)
	}
	if err == nil {
		err = t.dir.Keep()
	}
	if err != nil {
		return fmt.Errorf("noting what the worktree began as: %w", err)
	}
	return nil
}

// treeKind is the kind of scratch folder that worktrees lie in.
const treeKind = "tree"

// treePrefix begins the name of every worktree of ours.
const treePrefix = "hermes-"

// removeDead removes git's memory of those worktrees of ours that are gone. A worktree
// lies in a scratch folder, which is there as long as its server lives.
func removeDead(common string) {
	scratch.Sweep()
	folder, err := safefile.OpenFolder(common)
	if err != nil {
		return
	}
	defer folder.Close()                                     //nolint:errcheck // only read
	entries, _ := folder.ReadDir("worktrees", mostWorktrees) // none: nothing to do
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), treePrefix) {
			continue
		}
		text, err := folder.Read(filepath.Join("worktrees", e.Name(), "gitdir"), safefile.Line)
		file := filepath.FromSlash(strings.TrimSpace(string(text)))
		if err != nil || !filepath.IsAbs(file) {
			continue
		}
		if _, err := os.Lstat(filepath.Dir(filepath.Dir(file))); errors.Is(err, fs.ErrNotExist) {
			_ = forget(common, e.Name()) // tried again next time
		}
	}
}

// mostWorktrees is how many worktrees of a repository are looked at.
const mostWorktrees = 1000
