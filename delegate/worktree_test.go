package delegate_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/safefile/hostile"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// repository makes the bed's folder a git repository with two files and a commit.
func (b *bed) repository() {
	b.t.Helper()
	b.write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
	b.write("b.txt", "b\n")
	b.write(".gitignore", "ignored\n")
	b.git("init", "-q")
	b.git("add", ".")
	b.git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "first")
}

func (b *bed) git(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (b *bed) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(data)
}

// checkGone: no worktree is left, for git and on the disk.
func (b *bed) checkGone() {
	b.t.Helper()
	if list := strings.TrimSpace(b.git("worktree", "list")); strings.Count(list, "\n") != 0 {
		b.t.Errorf("worktrees are left:\n%s", list)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, ".git", "worktrees", "*")); len(left) > 0 {
		b.t.Errorf("git remembers %v", left)
	}
}

func isolated(goals ...string) object {
	list := make([]object, len(goals))
	for i, g := range goals {
		list[i] = object{"goal": g, "isolation": "worktree", "toolsets": []string{"file", "terminal"}}
	}
	return object{"tasks": list}
}

func run(command string) []step { return call("terminal", object{"command": command}) }

// TestWorktree checks the copies of subagents: each works in a copy of the user's files, and
// its changes are merged with later changes of the user.
func TestWorktree(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"parent":   {call("delegate_task", isolated("First of two", "Second of two")), say("ok")},
		"First of": {run("cat a.txt new.txt; git status --short; pwd; sed -i s/one/ONE/ a.txt; rm b.txt; mkdir d; echo made > d/made.txt; echo no > ignored"), say("First done.")},
		"Second o": {call("patch", object{"path": "a.txt", "old_string": "seven", "new_string": "SEVEN"}), run("test -f ignored && echo seen"), say("Second done.")},
	})
	b.repository()
	b.write("a.txt", "one\ntwo changed\nthree\nfour\nfive\nsix\nseven\n") // not committed
	b.write("new.txt", "not known to git\n")
	b.write("ignored", "yes\n")
	b.prompt("parent")
	a := b.answer()
	if len(a.Results) != 2 || a.Results[0].Status != "completed" || a.Results[1].Status != "completed" {
		t.Fatal(a.text)
	}
	first, second := a.Results[0].Changes, a.Results[1].Changes
	if got := strings.Join(first.Applied, " "); got != "a.txt b.txt d/made.txt" || len(first.Conflicts) > 0 {
		t.Errorf("first: %+v", first)
	}
	if got := strings.Join(second.Applied, " "); got != "a.txt" || len(second.Conflicts) > 0 {
		t.Errorf("second: %+v", second)
	}
	if got := b.read("a.txt"); got != "ONE\ntwo changed\nthree\nfour\nfive\nsix\nSEVEN\n" {
		t.Errorf("a.txt = %q", got)
	}
	if got := b.read("d/made.txt"); got != "made\n" {
		t.Errorf("made.txt = %q", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "b.txt")); !os.IsNotExist(err) || b.read("ignored") != "yes\n" {
		t.Errorf("b.txt: %v, ignored = %q", err, b.read("ignored"))
	}
	saw := b.log(a.Results[0].Session)[2].Text()
	if !strings.Contains(saw, "two changed") || !strings.Contains(saw, "not known to git") || strings.Contains(saw, `"cwd":"`+b.dir) {
		t.Errorf("the copy was %s", saw)
	}
	b.checkGone()
}

// TestWorktreeConflict changes the same place twice. Only this file gets a conflict; both texts
// are kept.
func TestWorktreeConflict(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	begun, done := filepath.Join(out, "begun"), filepath.Join(out, "done") // the second has its copy; the first has ended
	b := newBed(t, map[string][][]step{
		"parent":   {call("delegate_task", isolated("First of two", "Second of two")), say("ok")},
		"First of": {run("while ! test -e " + begun + "; do sleep 0.05; done; sed -i s/two/FIRST/ a.txt; echo x > same.txt"), say("First done.")},
		"Second o": {run("sed -i s/two/SECOND/ a.txt; rm b.txt; echo other > other.txt"), run("echo y > same.txt; while ! test -e " + done + "; do sleep 0.05; done"), say("Second done.")},
	}, func(b *bed) { b.output = filepath.Join(out, "parent") })
	b.repository()
	var second atomic.Value
	b.sink.also = func(e agent.Event) {
		written := ""
		switch e := e.(type) {
		case agent.ChildStarted:
			if strings.HasPrefix(e.Goal, "Second") {
				second.Store(e.SessionID)
			}
		case agent.ChildEvent:
			if second.Load() == e.SessionID {
				written = begun
			}
		case agent.ChildEnded:
			if strings.HasPrefix(e.Goal, "First") {
				b.write("b.txt", "the user's\n") // state describes a user's file: its text and mode, or the target of the link.
				written = done
			}
		}
		if written == "" {
			return
		}
		if err := os.WriteFile(written, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	b.prompt("parent")
	changes := b.answer().Results[1].Changes
	if got := strings.Join(changes.Applied, " "); got != "other.txt" {
		t.Errorf("applied %q", got)
	}
	conflicts := map[string]string{}
	for _, c := range changes.Conflicts {
		conflicts[c.Path] = c.Reason
		if kept, err := os.ReadFile(filepath.FromSlash(c.Kept)); c.Path == "a.txt" && (err != nil || !strings.Contains(string(kept), "SECOND") || !strings.Contains(c.Diff, "+SECOND")) {
			t.Errorf("kept %q, %v, diff %q", kept, err, c.Diff)
		}
	}
	for path, reason := range map[string]string{"a.txt": "same place", "same.txt": "made meanwhile", "b.txt": "not deleted"} {
		if !strings.Contains(conflicts[path], reason) {
			t.Errorf("%s: %q, want %q", path, conflicts[path], reason)
		}
	}
	if a := b.read("a.txt"); !strings.Contains(a, "FIRST") || b.read("same.txt") != "x\n" || b.read("b.txt") != "the user's\n" || b.read("other.txt") != "other\n" {
		t.Errorf("a.txt = %q, same.txt = %q, b.txt = %q", a, b.read("same.txt"), b.read("b.txt"))
	}
	b.checkGone()
}

// TestWorktreeOfAHostileRepository configures programs in a hostile repository. They do not
// run.
func TestWorktreeOfAHostileRepository(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"parent":   {call("delegate_task", isolated("Look around")), say("ok")},
		"Look aro": {call("write_file", object{"path": "c.txt", "content": "c\n"}), say("Done.")},
	})
	b.repository()
	proof := filepath.Join(t.TempDir(), "proof")
	evil := "touch " + proof
	b.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	for _, kv := range [][2]string{
		{"filter.evil.smudge", evil}, {"filter.evil.clean", evil + "; cat"}, {"filter.evil.process", evil}, {"diff.evil.textconv", evil},
		{"merge.evil.driver", evil}, {"core.fsmonitor", evil}, {"core.pager", evil}, {"diff.external", evil}, {"core.sshCommand", evil},
	} {
		b.git("config", kv[0], kv[1])
	}
	hooks := filepath.Join(b.dir, ".git", "hooks")
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"} {
		if err := os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\n"+evil+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Remove(proof) // git config may have started the monitor
	b.prompt("parent")
	if a := b.answer(); a.Results[0].Changes == nil || strings.Join(a.Results[0].Changes.Applied, " ") != "c.txt" {
		t.Fatal(a.text)
	}
	if _, err := os.Stat(proof); err == nil {
		t.Error("the repository's program ran")
	}
}

// TestWorktreeCancelled cancels the work at any moment. No worktree and no process is left. The
// files are unchanged, or the work is complete.
func TestWorktreeCancelled(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 5, 20, 40, 80, 150, 400} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "alive")
			b := newBed(t, map[string][][]step{
				"parent":   {call("delegate_task", isolated("First of two", "Second of two")), say("ok")},
				"First of": {run("echo x > made.txt; (while true; do touch " + mark + "; sleep 0.05; done) & sleep 30"), say("First done.")},
				"Second o": {run("sleep 30"), say("Second done.")},
			})
			b.repository()
			ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
			defer cancel()
			stop, err := b.parent.Turn(ctx, agent.Input{Text: "parent"}, &recorder{})
			if err != nil || stop != agent.Cancelled {
				t.Errorf("stop = %s, %v", stop, err)
			}
			if len(b.log(b.id)) > 0 {
				b.checkLog(b.id)
			}
			b.checkGone()
			if _, err := os.Stat(filepath.Join(b.dir, "made.txt")); err == nil {
				t.Error("half the work was brought back")
			}
			if running, err := exec.Command("ps", "-eww", "-o", "args").Output(); err != nil || strings.Contains(string(running), "touch "+mark) {
				t.Errorf("a process lives on: %v\n%s", err, running)
			}
		})
	}
}

// TestWorktreeAfterACrash checks the remains of a dead server: the next server removes them.
func TestWorktreeAfterACrash(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"parent":   {call("delegate_task", isolated("Look around")), say("ok")},
		"Look aro": {say("Done.")},
	})
	b.repository()
	dead, err := scratch.New("tree")
	if err != nil {
		t.Fatal(err)
	}
	b.git("worktree", "add", "-q", "--detach", dead.Path("hermes-dead"))
	users := filepath.Join(t.TempDir(), "hers")
	b.git("worktree", "add", "-q", "--detach", users)
	dead.Remove() // like a sweep if the lock is free
	b.prompt("parent")
	list := b.git("worktree", "list")
	if strings.Contains(list, "hermes-dead") || !strings.Contains(list, "hers") {
		t.Errorf("worktrees:\n%s", list)
	}
}

// TestSweep removes dead worktrees at the start of a session, also in the user's own worktree.
func TestSweep(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{false, true} {
		b := newBed(t, nil)
		b.repository()
		folder := b.dir
		if linked {
			folder = filepath.Join(t.TempDir(), "hers")
			b.git("worktree", "add", "-q", "--detach", folder)
		}
		dead, err := scratch.New("tree")
		if err != nil {
			t.Fatal(err)
		}
		b.git("worktree", "add", "-q", "--detach", dead.Path("hermes-dead"))
		alive, err := scratch.New("tree")
		if err != nil {
			t.Fatal(err)
		}
		defer alive.Remove()
		b.git("worktree", "add", "-q", "--detach", alive.Path("hermes-alive"))
		dead.Remove()
		if err := os.Mkdir(filepath.Join(folder, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		b.children.Sweep(filepath.Join(folder, "sub"))
		list := b.git("worktree", "list")
		for deadline := time.Now().Add(time.Minute); strings.Contains(list, "hermes-dead") && time.Now().Before(deadline); list = b.git("worktree", "list") {
			time.Sleep(20 * time.Millisecond)
		}
		if strings.Contains(list, "hermes-dead") || !strings.Contains(list, "hermes-alive") {
			t.Errorf("linked %v, worktrees:\n%s", linked, list)
		}
	}
}

// TestWorktreesAtOnce adds worktrees concurrently. git cannot read a worktree while it is
// added, so another task waits.
func TestWorktreesAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"parent":   {call("delegate_task", isolated("Look around")), say("ok")},
		"Look aro": {run("echo x > made.txt"), say("Done.")},
	})
	b.repository()
	b.git("worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "other"))
	link := filepath.Join(b.dir, ".git", "worktrees", "other", "commondir")
	text, err := os.ReadFile(link)
	if err == nil {
		err = os.WriteFile(link, nil, 0o644) // as during its creation
	}
	if err != nil {
		t.Fatal(err)
	}
	b.prompt("parent")
	if err := os.WriteFile(link, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if a := b.answer(); len(a.Results) != 1 || a.Results[0].Status != "completed" || len(a.Results[0].Changes.Applied) != 1 {
		t.Fatal(a.text)
	}
	b.git("worktree", "remove", "--force", "other")
	b.checkGone()
}

// TestWorktreeEndings checks changes at the end of subagents. Changes with the status completed
// are merged, also if a limit ended the subagent. Changes of a failed subagent are kept.
func TestWorktreeEndings(t *testing.T) {
	t.Parallel()
	edit := func(name string) []step { return call("write_file", object{"path": name, "content": "x\n"}) }
	for name, tc := range map[string]struct {
		replies [][]step
		applied string
	}{
		"the answer":     {[][]step{edit("a"), edit("b"), say("Done.")}, "a b"},
		"max_iterations": {[][]step{edit("a"), edit("b"), edit("c"), say("All made.")}, "a b c"},
		"no report":      {[][]step{edit("a"), edit("b"), edit("c"), edit("d")}, "a b c"},
		"length":         {[][]step{edit("a"), {{text: "Do"}, {finish: "length"}}}, "a"},
		"no answer":      {[][]step{edit("a"), {}, {}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := object{"goal": "Make files", "isolation": "worktree", "max_iterations": 3}
			b := newBed(t, map[string][][]step{"parent": {call("delegate_task", task), say("ok")}, "Make fil": tc.replies})
			b.repository()
			b.prompt("parent")
			r := b.answer().Results[0]
			if applied := strings.Join(r.Changes.Applied, " "); applied != tc.applied || (r.Status == "completed") != (len(r.Changes.Conflicts) == 0) {
				t.Errorf("%+v, changes %+v", r, r.Changes)
			}
		})
	}
}

// TestWorktreeNeedsARepository delegates without a repository. The call is rejected before any
// work begins.
func TestWorktreeNeedsARepository(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{"parent": {call("delegate_task", isolated("Look around")), say("ok")}})
	b.prompt("parent")
	if a := b.answer(); !strings.Contains(a.Error, "needs a git repository") || len(of[agent.ChildStarted](b.sink)) > 0 {
		t.Error(a.text)
	}
}

// TestWorktreeWithoutWaiting replaces a file of the repository by a named pipe, for which git
// would wait. The call is rejected instead.
func TestWorktreeWithoutWaiting(t *testing.T) {
	t.Parallel()
	for _, thing := range hostile.Obstacles(t) {
		if thing.Name != "named pipe" && thing.Name != "link to /dev/zero" {
			continue
		}
		for _, file := range []string{"HEAD", "index", "config", "packed-refs", "objects/info/alternates", "objects/pack/pack-x.idx", "worktrees/x/HEAD"} {
			t.Run(thing.Name+" as "+file, func(t *testing.T) {
				t.Parallel()
				b := newBed(t, map[string][][]step{"parent": {call("delegate_task", isolated("Look around")), say("ok")}})
				b.repository()
				thing.Put(t, filepath.Join(b.dir, ".git", filepath.FromSlash(file)))
				b.prompt("parent")
				if a := b.answer(); !strings.Contains(a.Error, "git would wait") || len(of[agent.ChildStarted](b.sink)) > 0 {
					t.Error(a.text)
				}
			})
		}
	}
}
