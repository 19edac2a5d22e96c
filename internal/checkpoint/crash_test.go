package checkpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// victim works in dir/ws until it is killed: it runs turns with a tool and with commands. It prints
// the title of each started turn.
func victim(dir string) {
	files, err := workspace.Open([]string{filepath.Join(dir, "ws")}, nil)
	if err != nil {
		panic(err)
	}
	store := New(filepath.Join(dir, "home"))
	k := store.Keeper(Config{Session: "s", Files: files, Limits: func() Limits { return Limits{Total: 1 << 20, File: 1 << 20} }})
	files.Journal = k.Journal
	ctx := context.Background()
	for i := 0; ; i++ {
		title := fmt.Sprintf("turn %d of %d", i, os.Getpid())
		k.Begin(title)
		fmt.Println(title)
		use := func(name string) {
			_, _ = files.Read(ctx, name) // the current content
			if _, err := files.Write(ctx, name, []byte(title)); err != nil && !errors.Is(err, workspace.ErrStale) {
				panic(err)
			}
		}
		use(fmt.Sprintf("tool%d", i%3))
		done := k.BeginCommand(ctx)
		name := filepath.Join(dir, "ws", fmt.Sprintf("command%d", i%3))
		if err := os.WriteFile(name, []byte(title+strings.Repeat("x", 20_000)), 0o644); err != nil {
			panic(err)
		}
		done()
		use("last")
		k.End()
	}
}

// kill starts a victim, kills it after a while, and returns its last reported turn.
func kill(t *testing.T, dir string, after time.Duration) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CHECKPOINT_VICTIM="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the victim says nothing")
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	last := lines.Text()
	for lines.Scan() {
		last = lines.Text()
	}
	_ = cmd.Wait() // killed
	return last
}

// The next process can restore the last turn of a process killed at any time, and all contents
// named in records exist.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		kill(t, dir, time.Duration(rand.IntN(60_000))*time.Microsecond)
		b := &bench{t: t, dir: filepath.Join(dir, "ws"), store: New(filepath.Join(dir, "home"))}
		b.open("s")
		list := b.list()
		for _, r := range must(b.store.records("s")) {
			if r.Owner != "" || r.Base != "" {
				t.Errorf("%s is not complete: %+v", r.ID, r.header)
			}
			for _, c := range r.changes {
				if c.Begun {
					t.Errorf("%s: %s is not complete", r.ID, c.Path)
				}
				if c.Before.Sum == "" {
					continue
				}
				if _, err := b.store.get(c.Before.Sum); err != nil {
					t.Errorf("%s: %s: %v", r.ID, c.Path, err)
				}
			}
		}
		// The newest checkpoint restores its listed files.
		if len(list) > 0 {
			before := contents(t, list[0].Files)
			out, err := b.Restore(t.Context(), list[0].ID, Choice{Files: list[0].Files, Force: func(string) bool { return true }})
			if err != nil || len(out.Kept) > 0 {
				t.Fatalf("restoring: %v, kept %v", err, out.Kept)
			}
			if after := contents(t, list[0].Files); slices.Equal(before, after) {
				t.Errorf("restoring %v has changed nothing", list[0])
			}
		}
		if err := errors.Join(b.Close(t.Context()), b.store.Close()); err != nil {
			t.Fatal(err)
		}
	}
	owners, _ := filepath.Glob(filepath.Join(dir, "home", "checkpoints", "owners", "*"))
	if len(owners) > 6 { // a process killed between two checkpoints leaves its file for a while
		t.Errorf("marks of dead processes are left: %v", owners)
	}
}

// The user may have removed a file missing after the kill. It is restored only by name, unless it
// was recorded before.
func TestRemovedAfterTheProcessWasKilled(t *testing.T) {
	t.Parallel()
	if !stampsTell {
		t.Skip("this system does not tell when a file was changed")
	}
	b := newBench(t, map[string]string{"a.txt": "one", "b.txt": "two", "d/x": "x", "z.txt": "z"})
	b.Begin("Turn")
	pastTick()
	b.shell("rm b.txt; echo more >> z.txt")
	b.list() // after the scan following the command
	home := t.TempDir()
	if err := os.CopyFS(filepath.Join(home, "checkpoints"), os.DirFS(b.store.dir)); err != nil { // as the killed process leaves it
		t.Fatal(err)
	}
	b.End()
	b.list()
	b.sh("rm a.txt; mv d k")
	b.store = New(home)
	b.open("session")
	same(t, "waiting", b.waits(), []string{"Turn: b.txt z.txt"})
	restored, kept := b.restore("Turn")
	same(t, "restored", restored, []string{"b.txt", "z.txt"})
	same(t, "kept", kept, []string{"a.txt", "d/x", "k/x"})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func contents(t *testing.T, paths []string) (texts []string) {
	t.Helper()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		texts = append(texts, fmt.Sprint(string(text), err))
	}
	return texts
}

// Several processes share a workspace and the store, and a process is killed.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: filepath.Join(dir, "ws"), store: New(filepath.Join(dir, "home"))}
	b.write("mine", "one")
	b.open("mine")
	killed := make(chan string)
	for range 2 {
		go func() { killed <- kill(t, dir, 700*time.Millisecond) }()
	}
	for i := range 30 {
		b.turn(fmt.Sprint("Turn ", i), func() {
			_, _ = b.Files.Read(t.Context(), "mine")
			b.edit("mine", fmt.Sprint("text ", i))
			b.shell("echo more >> mine")
		})
		if err := b.store.Prune(t.Context(), Limits{Total: 1 << 20, File: 1 << 20}); err != nil && !errors.Is(err, errInUse) {
			t.Fatal(err)
		}
	}
	<-killed
	<-killed
	list := b.list()
	if len(list) == 0 || list[0].Title != "Turn 29" {
		t.Fatalf("checkpoints: %v", list)
	}
	oldest := list[len(list)-1]
	if _, kept := b.restore(oldest.Title, "mine"); len(kept) > 0 {
		for _, r := range must(b.store.records("mine")) {
			for _, c := range r.changes {
				t.Logf("%s %s: %+v", r.ID, r.Title, *c)
			}
		}
		t.Errorf("kept: %v; told: %v", kept, b.told)
	}
	text, err := os.ReadFile(b.path("mine"))
	if err != nil {
		t.Fatal(err)
	}
	want := "one"
	if oldest.Title != "Turn 0" {
		var n int
		if _, err := fmt.Sscanf(oldest.Title, "Turn %d", &n); err != nil {
			t.Fatal(err)
		}
		want = fmt.Sprintf("text %dmore\n", n-1)
	}
	if string(text) != want {
		t.Errorf("mine is %q, want %q", text, want)
	}
}

// The store never exceeds its limit, and the newest checkpoints stay.
func TestLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	limits := Limits{Total: 1 << 20, File: 10 << 20}
	for i := range 60 {
		random := make([]byte, 50_000)
		for j := range random {
			random[j] = byte(rand.IntN(256))
		}
		b.write("file", string(random))
		b.turn(fmt.Sprint("Turn ", i), func() { _, _ = b.Files.Read(t.Context(), "file"); b.edit("file", "x") })
	}
	b.prune(limits)
	list := b.list()
	if len(list) < 10 || len(list) > 25 || list[0].Title != "Turn 59" {
		t.Errorf("%d checkpoints are left, the newest %q", len(list), list[0].Title)
	}
	size := int64(0)
	err := filepath.WalkDir(filepath.Join(b.store.dir, "objects"), func(path string, d os.DirEntry, err error) error {
		if info, infoErr := d.Info(); infoErr == nil && !d.IsDir() {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > limits.Total || size < limits.Total/2 {
		t.Errorf("%d bytes are left of %d", size, limits.Total)
	}
	for _, c := range list {
		if text, _, err := b.File(t.Context(), c.ID, b.path("file")); err != nil || len(text) != 50_000 {
			t.Errorf("%s: %d bytes, %v", c.Title, len(text), err)
		}
	}
	if err := b.store.Forget("session"); err != nil {
		t.Fatal(err)
	}
	b.prune(limits)
	left, _ := filepath.Glob(filepath.Join(b.store.dir, "objects", "*", "*"))
	if len(left) > 1 { // the newest tree of the workspace may need the current file
		t.Errorf("contents that are not needed are left: %v", left)
	}
}

// prune cleans up as soon as no process writes.
func (b *bench) prune(limits Limits) {
	b.t.Helper()
	for {
		err := b.store.Prune(b.t.Context(), limits)
		if err == nil {
			return
		}
		if !errors.Is(err, errInUse) {
			b.t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// Damaged files are detected, and the others can be restored.
func TestDamaged(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a": "one", "b": "two"})
	b.turn("Turn", func() { b.edit("a", "1"); b.edit("b", "2") })
	b.list()
	if err := os.WriteFile(b.store.object(sumOf([]byte("one"))), []byte("pwrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, _ := filepath.Glob(filepath.Join(b.store.dir, "sessions", "*", "*"))
	f, err := os.OpenFile(file[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"path":"/cut`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.WriteFile(filepath.Join(filepath.Dir(file[0]), newID()+recordSuffix), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	restored, kept := b.restore("Turn")
	same(t, "restored", restored, []string{"b"})
	same(t, "kept", kept, []string{"a"})
}
