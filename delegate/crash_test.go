package delegate_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

const victimDir = "HERMES_TEST_VICTIM"

// alone is a testing.TB for a process without a running test.
type alone struct {
	testing.TB
	dir string
}

func (alone) Helper()                   {}
func (alone) Cleanup(func())            {}
func (alone) Context() context.Context  { return context.Background() }
func (a alone) TempDir() string         { return a.dir }
func (alone) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (alone) Error(args ...any)         { panic(fmt.Sprint(args...)) }
func (alone) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func crashScripts(dir string) map[string][][]step {
	return map[string][][]step{
		"parent":        {call("delegate_task", isolated("Be done soon", "Hang in a command", "Think for long")), say("I see.")},
		"Be done soon":  {say("Done soon.")},
		"Hang in a com": {append([]step{{text: "I begin to hang."}}, run("echo work >b.txt; while true; do touch "+aliveIn(dir)+"; sleep 0.05; done")...), say("Unhung.")},
		"Think for lon": {{{text: "Half a thought"}, {sleep: time.Hour}}},
	}
}

// aliveIn is a file unique to the test's subagent.
func aliveIn(dir string) string { return "alive-" + filepath.Base(filepath.Dir(dir)) }

// victim is a delegating server to be killed by the test.
func victim(dir string) {
	b := &bed{t: alone{dir: dir}, dir: filepath.Join(dir, "ws"), model: &scripted{scripts: crashScripts(dir)}, sink: &recorder{}, limits: defaultLimits, output: filepath.Join(dir, "out", "parent")}
	b.id = ""
	b.store = store.New(filepath.Join(dir, store.FileName), store.Options{})
	b.open()
	_, err := b.parent.Turn(context.Background(), agent.Input{Text: "parent"}, &recorder{})
	fmt.Println("the victim ended by itself:", err)
}

// TestKilled kills a server in a batch. The next server accounts for every task, with the work
// so far, and no process of a subagent is left.
func TestKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a worktree is in use while its commands run")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, dir: filepath.Join(dir, "ws"), model: &scripted{scripts: crashScripts(dir)}, sink: &recorder{}, limits: defaultLimits, output: filepath.Join(dir, "out", "parent")}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.repository()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // usually dead by then
		_ = cmd.Wait()
	})
	alive := filepath.Join(os.TempDir(), "hermes-ls-tree-*", "hermes-*", aliveIn(dir))
	waitFor(t, "a command of a subagent", func() bool { found, _ := filepath.Glob(alive); return len(found) == 1 })
	b.store = store.New(filepath.Join(dir, store.FileName), store.Options{})
	defer b.store.Close()
	waitFor(t, "all subagents, and the end of the first", func() bool {
		page, _, err := b.store.List(t.Context(), store.Filter{})
		return err == nil && len(page) == 4 && slices.ContainsFunc(page, func(x store.Session) bool { return strings.Contains(x.Origin, `"status":"completed"`) })
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	waitFor(t, "the end of the command of a subagent", func() bool {
		running, err := exec.Command("ps", "-eo", "args").Output()
		return err == nil && !strings.Contains(string(running), "touch "+aliveIn(dir))
	})
	waitForLocks(t, worktree.RecordsOf(b.store.Path()), cmd.Process.Pid)
	b.rename(filepath.Join(dir, "renamed"))
	stranger := newBed(t, nil) // whose store does not know the subagents
	stranger.repository()
	stranger.git("worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "hermes-else"))
	stranger.children.Notice(t.Context(), stranger.id) // looks for remaining subagents
	b.model.scripts["parent"] = [][]step{say("I see.")}
	b.resume(t)
	defer b.close()
	a := b.answer()
	if len(a.Results) != 3 {
		t.Fatal(a.text)
	}
	for i, want := range []struct{ status, summary string }{{"completed", "Done soon."}, {"interrupted", "I begin to hang."}, {"interrupted", "did not come to a report"}} {
		if r := a.Results[i]; r.Index != i || r.Status != want.status || !strings.Contains(r.Summary, want.summary) || r.Session == "" {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	conflicts := map[string]worktree.Conflict{}
	for _, c := range a.Results[1].Changes.Conflicts {
		conflicts[c.Path] = c
	}
	kept, err := os.ReadFile(filepath.FromSlash(conflicts["b.txt"].Kept))
	if string(kept) != "work\n" || !strings.Contains(conflicts["b.txt"].Reason, "did not complete") {
		t.Errorf("its work is not kept: %q, %v in %+v", kept, err, conflicts)
	}
	if summary := a.Results[1].Summary; !strings.Contains(summary, "- $ echo work >b.txt; ") {
		t.Errorf("what it did: %q", summary)
	}
	if trace := a.Results[1].Trace; len(trace) != 1 || trace[0].Tool != "terminal" || trace[0].Status != "interrupted" {
		t.Errorf("what it was doing: %+v", trace)
	}
	b.checkGone()
	b.checkLog(b.id)
	if stop := b.prompt("parent"); stop != agent.EndTurn {
		t.Errorf("the next turn: %s", stop)
	}
}

// waitForLocks waits until the locks of a killed server are released: a program being started
// holds its locks until the program runs.
func waitForLocks(t *testing.T, records string, pid int) {
	t.Helper()
	for _, pattern := range []string{
		filepath.Join(records, "*", "lock"),
		filepath.Join(os.TempDir(), "hermes-ls-*-"+strconv.FormatInt(int64(pid), 36)+"-*", "lock"),
	} {
		locks, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range locks {
			waitFor(t, path, func() bool {
				lock, err := scratch.Lock(path, 0)
				if err == nil {
					filelock.Release(lock) // a child of another test may have a copy of the file
				}
				return err == nil || errors.Is(err, fs.ErrNotExist)
			})
		}
	}
}

// rename renames the folder of a killed server. If a server starts before the worktrees are
// moved, it leaves them.
func (b *bed) rename(to string) {
	b.t.Helper()
	from := b.dir
	if err := os.Rename(from, to); err != nil {
		b.t.Fatal(err)
	}
	records := worktree.RecordsOf(b.store.Path())
	worktree.Recovery{
		Records: records,
		Saved:   func(_ context.Context, id string, _ *worktree.Merge) { b.t.Errorf("%s was saved", id) },
		Failed:  func(_ string, err error) { b.t.Error(err) },
	}.Run(b.t.Context())
	if n, err := worktree.Move(records, folderpath.Move{Old: from + "2", New: to}); n != 0 || err != nil {
		b.t.Errorf("another folder: %d, %v", n, err)
	}
	if n, err := worktree.Move(records, folderpath.Move{Old: from, New: to}); n == 0 || err != nil {
		b.t.Fatalf("moved %d worktrees, %v", n, err)
	}
	b.dir = to
}

// resume opens the only session other than a subagent's.
func (b *bed) resume(t *testing.T) {
	t.Helper()
	page, _, err := b.store.List(t.Context(), store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, head := range page {
		if head.Parent == "" {
			b.id = head.ID
		}
	}
	b.open()
}

func waitFor(t *testing.T, what string, there func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !there(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
