package sandbox

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// When a review finds a background command's new repository, the repository is protected from the
// still running command at once.
func TestHeldWhileItRuns(t *testing.T) {
	t.Parallel()
	m := Detect(t.Context())
	if m.Kind != Namespaces || !m.Processes {
		t.Skip("this host has no process namespaces of ours")
	}
	root := t.TempDir()
	box := New(Config{Mode: WorkspaceWrite, Network: true, Home: t.TempDir(), Roots: func() []string { return []string{root} }, Mechanism: &m})
	defer box.Close()
	hook := filepath.Join(root, "sub/.git/hooks/pre-commit")
	r, w := io.Pipe()
	defer w.Close() // ends the child's reading
	var out bytes.Buffer
	c := proc.Cmd{
		Args: []string{"/bin/sh", "-c", "exec 2>/dev/null; git init -q sub; mkdir -p sub/.git/hooks; echo x >" + hook + "; echo made; read go; echo y >" + hook + " && echo again; mv sub/.git sub/x && echo moved; echo x >sub/.git/hooks/post-commit && echo other; echo x >file && echo file"},
		Dir:  root, Stdin: r, Stdout: &out, Env: os.Environ(), Together: true,
	}
	watch := watching(box)
	defer watch.End()
	if err := box.Confine(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(hook); err == nil && len(text) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it made no hook")
		}
	}
	changes, done := watch.Changes()
	done()
	if len(changes) == 0 || !strings.Contains(changes[0].Path, "hooks") {
		t.Errorf("%+v", changes)
	}
	if _, err := w.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil || out.String() != "made\nfile\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	if text, _ := os.ReadFile(hook); string(text) != "x\n" {
		t.Errorf("the hook holds %q", text)
	}
}

// Pipes in the place of a repository's files delay no review.
func TestPipesInARepository(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	git := filepath.Join(root, "sub/.git")
	for _, name := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(git, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"HEAD", "config", "config.worktree", "commondir", "gitdir", "info", "hooks", "modules", "worktrees"} {
		if err := syscall.Mkfifo(filepath.Join(git, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := Detect(t.Context())
	box := New(Config{Mode: WorkspaceWrite, Network: true, Home: t.TempDir(), Roots: func() []string { return []string{root} }, Mechanism: &m})
	defer box.Close()
	looked := make(chan struct{})
	go func() { box.places.Look(); close(looked) }()
	select {
	case <-looked:
	case <-time.After(time.Minute):
		t.Fatal("the review waits for a pipe")
	}
}

// The user clones a repository while a command runs. The first look protects it.
func TestCloneIsHeldAtOnce(t *testing.T) {
	t.Parallel()
	v := newVictim(t, holding(t)[0], WorkspaceWrite, true)
	v.together = true
	watch := watching(v.box)
	ended := make(chan string)
	go func() {
		ended <- v.start(gitPayload + `touch started; until [ -e go ]; do sleep 0.02; done; monitor n/.git/config; hook n/.git/hooks; mv n o; touch done`)
	}()
	v.await("ws/started")
	v.host("git", "init", "-q", v.base+"/from")
	v.host("git", "-C", v.base+"/from", "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "x")
	v.host("git", "clone", "-q", v.base+"/from", v.ws+"/n")
	changes, done := watch.Changes()
	if len(changes) > 0 {
		t.Errorf("%+v", changes)
	}
	done()
	v.write("ws/go", "")
	out := <-ended
	v.user("cd n" + types)
	if !v.lacks("PWNED") || v.lacks("ws/n") || v.lacks("ws/done") {
		t.Error(out)
	}
	watch.End()
}
