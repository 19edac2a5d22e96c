package checkpoint

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

func init() {
	if err := flag.Set("rapid.checks", "40"); err != nil { // each waits for clocks to tick
		panic(err)
	}
}

// world holds two folders with files changed by turns and the user, and a model of a restore's
// results.
type world struct {
	t      *rapid.T
	roots  [2]string
	home   string
	store  *Store
	files  *workspace.Workspace
	keeper *Keeper
	points []point
	n      int
}

// point is a turn with changed files and a restorable checkpoint.
type point struct {
	title         string
	before, after map[string]string
}

var names = []string{"a", "b", "d/x", "d/y", "e/f/z"}

func (w *world) open() {
	files, err := workspace.Open(w.roots[:], nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = New(w.home)
	w.files = files
	w.keeper = w.store.Keeper(Config{Session: "s", Files: files, Limits: func() Limits { return plenty }, ScanTimeout: time.Minute, Report: func(text string) { w.t.Fatal(text) }})
	files.Journal = w.keeper.Journal
}

func (w *world) close() {
	if err := errors.Join(w.keeper.Close(context.Background()), w.files.Close(), w.store.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// now returns all files and links, with mode and content.
func (w *world) now() map[string]string {
	all := map[string]string{}
	for _, root := range w.roots {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if to, err := os.Readlink(path); err == nil {
				all[path] = "link to " + to
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			all[path] = fmt.Sprintf("%v %s", info.Mode(), text)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return all
}

func (w *world) path() string {
	root := rapid.IntRange(0, 1).Draw(w.t, "root")
	return filepath.Join(w.roots[root], rapid.SampledFrom(names).Draw(w.t, "name"))
}

func (w *world) text() string {
	w.n++
	return fmt.Sprintf("%d %s", w.n, rapid.SampledFrom([]string{"", "x", "long\nlonger\n"}).Draw(w.t, "text"))
}

// change modifies a path without a tool.
func (w *world) change(path string) {
	_ = os.MkdirAll(filepath.Dir(path), 0o755) // it mostly exists
	var err error
	switch rapid.SampledFrom([]string{"write", "write", "replace", "remove", "mode", "link", "move"}).Draw(w.t, "change") {
	case "write":
		_ = os.Remove(path) // never through a link
		err = os.WriteFile(path, []byte(w.text()), 0o644)
	case "replace":
		if err = os.WriteFile(path+".new", []byte(w.text()), 0o600); err == nil {
			err = os.Rename(path+".new", path)
		}
	case "remove":
		_ = os.Remove(path) // it may not be there
	case "mode":
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(path, info.Mode().Perm()^0o111)
		}
	case "link":
		_ = os.Remove(path)
		err = os.Symlink("../b", path)
	case "move":
		to := w.path()
		if _, gone := os.Lstat(to); os.IsNotExist(gone) {
			_ = os.MkdirAll(filepath.Dir(to), 0o755)
			_ = os.Rename(path, to) // it may not be there
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// use changes a path with a tool.
func (w *world) use(path string) {
	info, err := os.Lstat(path)
	switch there := err == nil; {
	case there && rapid.Bool().Draw(w.t, "remove"):
		err = w.files.Remove(context.Background(), path)
	case there && info.Mode()&os.ModeSymlink != 0:
		err = nil // the test ignores its target
	default:
		_, err = w.files.Write(context.Background(), path, []byte(w.text()))
	}
	if err != nil && !errors.Is(err, workspace.ErrStale) {
		w.t.Fatal(err)
	}
}

func (w *world) turn() {
	title := fmt.Sprint("turn ", len(w.points))
	before := w.now()
	w.keeper.Begin(title)
	for range rapid.IntRange(1, 3).Draw(w.t, "calls") {
		if rapid.Bool().Draw(w.t, "command") {
			done := w.keeper.BeginCommand(context.Background())
			for range rapid.IntRange(0, 3).Draw(w.t, "changes") {
				w.change(w.path())
			}
			done()
		} else {
			w.use(w.path())
		}
	}
	w.keeper.End()
	w.settle()
	if after := w.now(); !maps.Equal(before, after) {
		w.points = append(w.points, point{title, before, after})
	}
}

// settle waits until the last turn is written, and for a tick of the clock.
func (w *world) settle() {
	if err := w.keeper.waitWritten(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	pastTick()
}

func (w *world) person() {
	w.change(w.path())
	pastTick()
}

// wanted returns the expected state of a path after restoring a point: its state before the first turn since
// then with a change of it. If the user changed a file between the turns or after them, only
// its mode changes are merged. Otherwise it stays as it is.
func (w *world) wanted(path string, at int, now string) string {
	var turns []point // turns with a change of path
	for _, p := range w.points[at:] {
		if p.before[path] != p.after[path] {
			turns = append(turns, p)
		}
	}
	state, alone := now, true
	for _, p := range slices.Backward(turns) {
		alone = alone && state == p.after[path]
		state = p.before[path]
	}
	switch {
	case alone:
		return state
	case !strings.HasPrefix(now, "-"):
		return now
	}
	state = now
	for _, p := range slices.Backward(turns) {
		before, after := p.before[path], p.after[path]
		mode, text, _ := strings.Cut(state, " ")
		_, afterText, _ := strings.Cut(after, " ")
		_, beforeText, _ := strings.Cut(before, " ")
		switch {
		case state == before:
		case state == after:
			state = before
		case !strings.HasPrefix(state, "-") || text != afterText || strings.HasPrefix(before, "link"):
			return now
		case before == "":
			state = ""
		case !strings.HasPrefix(after, mode+" "):
			state = mode + " " + beforeText
		}
	}
	return state
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// restore restores a point, and sometimes reverts the restore.
func (w *world) restore() {
	list, err := w.keeper.List(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	if len(w.points) == 0 {
		if len(list) > 0 {
			w.t.Fatalf("nothing has changed, but there is %v", list)
		}
		return
	}
	at := rapid.IntRange(0, len(w.points)-1).Draw(w.t, "point")
	i := slices.IndexFunc(list, func(c Info) bool { return c.Title == w.points[at].title })
	if i < 0 {
		w.t.Fatalf("%s is not among %v", w.points[at].title, list)
	}
	before := w.now()
	out, err := w.keeper.Restore(context.Background(), list[i].ID, Choice{})
	if err != nil {
		w.t.Fatal(err)
	}
	after := w.now()
	for path := range union(union(before, after), w.points[at].before) {
		if want := w.wanted(path, at, before[path]); after[path] != want {
			w.t.Fatalf("back at %s, %s is %q; want %q (it was %q, kept: %v)", w.points[at].title, path, after[path], want, before[path], out.Kept)
		}
	}
	if maps.Equal(before, after) {
		return
	}
	list, err = w.keeper.List(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	if rapid.Bool().Draw(w.t, "undo") {
		if out, err = w.keeper.Restore(context.Background(), list[0].ID, Choice{}); err != nil {
			w.t.Fatal(err)
		}
		if got := w.now(); !maps.Equal(got, before) {
			w.t.Fatalf("reverted it is\n%q, want\n%q (kept: %v)", got, before, out.Kept)
		}
	}
}

// A restore agrees with the model after any turns, commands and changes of the user.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	if !stampsTell {
		t.Skip("this system does not tell when a file was changed")
	}
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t}
		for i := range w.roots {
			w.roots[i] = tempDir(t)
			defer os.RemoveAll(w.roots[i])
		}
		w.home = tempDir(t)
		defer os.RemoveAll(w.home)
		for range 4 {
			_ = os.MkdirAll(filepath.Join(w.roots[0], "d"), 0o755)
			path := w.path()
			_ = os.MkdirAll(filepath.Dir(path), 0o755)
			if err := os.WriteFile(path, []byte(w.text()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		pastTick()
		w.open()
		defer func() { w.close() }()
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"turn", "turn", "turn", "person", "again"}).Draw(t, "step") {
			case "turn":
				w.turn()
			case "person":
				w.person()
			case "again":
				w.close()
				w.open()
			}
		}
		w.restore()
	})
}

func tempDir(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "hermes-model-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
