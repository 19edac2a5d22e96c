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

// What a command in the background has made is held from it as soon as a review has found
// it, while it goes on running.
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
	defer w.Close() //nolint:errcheck // ends the child's reading
	var out bytes.Buffer
	c := proc.Cmd{
		Args: []string{"/bin/sh", "-c", "exec 2>/dev/null; git init -q sub; mkdir -p sub/.git/hooks; echo x >" + hook + "; echo made; read go; echo y >" + hook + " && echo again; mv sub/.git sub/x && echo moved; echo x >sub/.git/hooks/post-commit && echo other; echo x >file && echo file"},
		Dir:  root, Stdin: r, Stdout: &out, Env: os.Environ(), Together: true,
	}
	watch := box.Watch()
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

// Pipes in the place of what a repository holds keep no review waiting.
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
	go func() { box.look(); close(looked) }()
	select {
	case <-looked:
	case <-time.After(time.Minute):
		t.Fatal("the review waits for a pipe")
	}
}
