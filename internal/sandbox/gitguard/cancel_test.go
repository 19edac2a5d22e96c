package gitguard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// guardOf returns a Guard of one folder, without a sandbox.
func guardOf(t *testing.T) *Guard {
	t.Helper()
	root := t.TempDir()
	g := New(Config{
		Roots: func() []string { return []string{root} }, Home: t.TempDir(), HermesHome: t.TempDir(),
		Holds: func() bool { return false },
		Inside: func(context.Context, string, []byte, []string, ...string) (string, error) {
			return "", errors.New("no sandbox")
		},
		Protect: func(context.Context, []string, []string) error { return nil },
		Notify:  func(string) {},
	})
	t.Cleanup(func() {
		g.Wait()
		g.Close()
	})
	return g
}

func (g *Guard) runs() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.review.running
}

// A command that waits for the review of another one can be canceled.
func TestWatchIsCanceled(t *testing.T) {
	t.Parallel()
	g := guardOf(t)
	first, err := g.Watch(t.Context(), Opening{})
	if err != nil {
		t.Fatal(err)
	}
	_, done := first.Changes()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w, err := g.Watch(ctx, Opening{}); w != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("during a review: %v, %v", w, err)
	}
	done()
	first.End()
	g.Wait()
	if n := g.runs(); n != 0 {
		t.Errorf("%d commands count as running", n)
	}
}

// A review that takes long after a cancel goes on, and the next command waits for it.
func TestReviewGoesOnAfterACancel(t *testing.T) {
	t.Parallel()
	g := guardOf(t)
	w, err := g.Watch(t.Context(), Opening{})
	if err != nil {
		t.Fatal(err)
	}
	reviewing, release := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		_, done := w.Finish(ctx, func() string {
			_, reviewed := w.Changes()
			defer reviewed()
			close(reviewing)
			<-release
			return "removed"
		})
		ended <- done
	}()
	<-reviewing
	cancel()
	if <-ended {
		t.Error("Finish has waited for the review")
	}
	next := make(chan *Watch)
	go func() {
		w, err := g.Watch(t.Context(), Opening{})
		if err != nil {
			t.Error(err)
		}
		next <- w
	}()
	select {
	case <-next:
		t.Error("the next command did not wait for the review")
	default:
	}
	if n := g.runs(); n != 1 {
		t.Errorf("%d commands count as running during the review", n)
	}
	close(release)
	(<-next).End()
	g.Wait()
	if n := g.runs(); n != 0 {
		t.Errorf("%d commands count as running at the end", n)
	}
	w, err = g.Watch(t.Context(), Opening{})
	if err != nil {
		t.Fatal(err)
	}
	if text, done := w.Finish(t.Context(), func() string { return "removed" }); text != "removed" || !done {
		t.Errorf("%q, %v", text, done)
	}
}

// A panic of a review reaches the caller, which recovers from it, and the watch ends.
func TestReviewPanics(t *testing.T) {
	t.Parallel()
	g := guardOf(t)
	w, err := g.Watch(t.Context(), Opening{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p != "broken" {
			t.Errorf("the caller recovers %v", p)
		}
		if n := g.runs(); n != 0 {
			t.Errorf("%d commands count as running", n)
		}
	}()
	w.Finish(t.Context(), func() string { panic("broken") })
}

// If a command has made folders that are too deep to be looked at, and the user denies them, no text says that the workspace is to
// be removed.
func TestDeniedFoldersAreNotTheWorkspace(t *testing.T) {
	t.Parallel()
	g := guardOf(t)
	root := g.cfg.Roots()[0]
	w, err := g.Watch(t.Context(), Opening{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, strings.Repeat("d/", walkDepth+10)), 0o755); err != nil {
		t.Fatal(err)
	}
	changes, done := w.Changes()
	if len(changes) != 1 {
		t.Fatalf("%+v", changes)
	}
	want := "folders in " + root + " that are too many or too deep"
	errs := w.Remove(t.Context(), changes)
	done()
	w.End()
	_, stuck := g.Scene()
	for _, text := range []string{changes[0].What, errs[0].Error(), stuck.Error()} {
		if !strings.Contains(text, want) || strings.Contains(text, "removing "+root) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "d")); err != nil {
		t.Fatal(err)
	}
	if w, err = g.Watch(t.Context(), Opening{}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Scene(); err != nil {
		t.Errorf("after they are gone: %v", err)
	}
	w.End()
}
