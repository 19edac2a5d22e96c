package file

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// slow is an editor whose diagnostics the test sets.
type slow struct {
	mu      sync.Mutex
	list    []Diagnostic
	waitFor time.Duration
	waits   []time.Duration
	looks   bool // it reports nothing until it has checked the file
	answers time.Duration
}

func (s *slow) set(list ...Diagnostic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func (s *slow) setLooks(looks bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = looks
}

// setAnswers sets how long each answer takes.
func (s *slow) setAnswers(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = after
}

func (s *slow) CanDiagnose() bool      { return true }
func (s *slow) WaitFor() time.Duration { return s.waitFor }

func (s *slow) Diagnose(_ context.Context, _ string, wait time.Duration) ([]Diagnostic, error) {
	s.mu.Lock()
	after := s.answers
	s.mu.Unlock()
	time.Sleep(after)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, wait)
	if s.looks && wait == 0 {
		return nil, nil
	}
	return s.list, nil
}

// TestLate checks that problems after the result of an edit are reported once, and that the next
// edit does not count them as old.
func TestLate(t *testing.T) {
	t.Parallel()
	who := &slow{waitFor: 7 * time.Second, list: []Diagnostic{{Message: "old"}}}
	late := new(Late)
	if got := late.Found(t.Context()); got != "" {
		t.Errorf("without an edit: %s", got)
	}
	t.Cleanup(late.Close)
	d := &diagnosis{who: who, late: late, before: map[string][]Diagnostic{"/a.x": who.list}}
	if d.waitFor() != 7*time.Second || (&diagnosis{who: &slow{}}).waitFor() != newsLimit {
		t.Error("an edit does not wait as long as the server says")
	}
	if got := d.notice(t.Context(), &workspace.Written{Path: "/a.x", Name: "a.x", New: []byte("x")}); got.Diagnostics != nil {
		t.Errorf("the result: %+v", got)
	}
	who.set(Diagnostic{Message: "old"}, Diagnostic{Message: "new", Line: 3})
	if known, ok, _ := late.baseline("/a.x"); !ok || len(known) != 1 {
		t.Errorf("the next edit compares with %v", known)
	}
	if got := late.Found(t.Context()); !strings.Contains(got, "a.x, line 3: error: new") || strings.Contains(got, "old") {
		t.Errorf("late: %s", got)
	}
	who.setLooks(true) // for a moment
	if got := late.Found(t.Context()); got != "" {
		t.Errorf("while the editor looks: %s", got)
	}
	who.setLooks(false)
	if got := late.Found(t.Context()); got != "" {
		t.Errorf("again: %s", got)
	}
}

// TestLateOfASlowEditor checks that a pause of the user loses no problem if the editor answers late.
func TestLateOfASlowEditor(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"short": 2 * lateFor, "long": 2 * goneFor} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { lateAfter(t, pause) })
		})
	}
}

func lateAfter(t *testing.T, pause time.Duration) {
	who := &slow{}
	late := new(Late)
	defer late.Close()
	d := &diagnosis{who: who, late: late, before: map[string][]Diagnostic{"/a.x": nil}}
	if got := d.notice(t.Context(), &workspace.Written{Path: "/a.x", Name: "a.x", New: []byte("x")}); got.Diagnostics != nil {
		t.Errorf("the result: %+v", got)
	}
	who.set(Diagnostic{Message: "new", Line: 3})
	who.setAnswers(2 * beforeLimit)
	time.Sleep(pause) // the user reads
	if got := late.Found(t.Context()); got != "" {
		t.Errorf("before the editor answers: %s", got)
	}
	time.Sleep(time.Second)
	if got := late.Found(t.Context()); !strings.Contains(got, "a.x, line 3: error: new") {
		t.Errorf("after the editor answered: %q", got)
	}
}

// TestGone checks a problem between the changes of two files. If it is gone before the next
// request, it is not reported. If it was reported, it is later reported as gone.
func TestGone(t *testing.T) {
	t.Parallel()
	between := Diagnostic{Message: "undefined: total", Line: 2}
	who := &slow{list: []Diagnostic{{Message: "old"}}}
	late := new(Late)
	t.Cleanup(late.Close)
	edit := func(then ...Diagnostic) problems {
		d := &diagnosis{who: who, late: late, before: map[string][]Diagnostic{"/a.x": {{Message: "old"}}}}
		if known, ok, _ := late.baseline("/a.x"); ok {
			d.before["/a.x"] = known
		}
		who.set(append([]Diagnostic{{Message: "old"}}, then...)...)
		return d.notice(t.Context(), &workspace.Written{Path: "/a.x", Name: "a.x", New: []byte("x")})
	}
	found := func(want string) {
		t.Helper()
		if got := late.Found(t.Context()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	const text = "- a.x, line 2: error: undefined: total"
	if got := edit(between); len(got.Diagnostics) != 1 {
		t.Errorf("the result: %+v", got)
	}
	who.set(Diagnostic{Message: "old"}) // the other file was changed
	found("Problems that you were told and that are gone:\n" + text)
	found("")
	who.set(Diagnostic{Message: "old"}, between)
	found("Problems that came after the results of your edits:\n" + text)
	found("")
	if got := edit(); len(got.Fixed) != 1 {
		t.Errorf("the result of the edit that removes it: %+v", got)
	}
	found("") // the result has reported it
}
