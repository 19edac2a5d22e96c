package gitguard

import (
	"context"
	"errors"
	"testing"
)

// guardOf returns a Guard for a new folder, without a sandbox.
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

// A command waiting for the review of another command can be canceled.
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

// A long review goes on after a cancel, and the next command waits for it.
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
