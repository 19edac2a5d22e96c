package file

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// slow is an editor whose diagnostics the test sets.
type slow struct {
	mu      sync.Mutex
	list    []Diagnostic
	waitFor time.Duration
	waits   []time.Duration
}

func (s *slow) CanDiagnose() bool      { return true }
func (s *slow) WaitFor() time.Duration { return s.waitFor }

func (s *slow) Diagnose(_ context.Context, _ string, wait time.Duration) ([]Diagnostic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, wait)
	return s.list, nil
}

// TestLate checks that problems that come after the result of an edit are told once, and are not
// taken for old ones by the next edit.
func TestLate(t *testing.T) {
	t.Parallel()
	who := &slow{waitFor: 7 * time.Second, list: []Diagnostic{{Message: "old"}}}
	late := new(Late)
	if got := late.Found(t.Context()); got != "" {
		t.Errorf("without an edit: %s", got)
	}
	d := &diagnosis{who: who, late: late, before: map[string][]Diagnostic{"/a.x": who.list}}
	if d.waitFor() != 7*time.Second || (&diagnosis{who: &slow{}}).waitFor() != newsLimit {
		t.Error("an edit does not wait as long as the server says")
	}
	late.keep(who, "/a.x", "a.x", d.before["/a.x"])
	who.list = []Diagnostic{{Message: "old"}, {Message: "new", Line: 3}}
	if known, ok := late.baseline("/a.x"); !ok || len(known) != 1 {
		t.Errorf("the next edit compares with %v", known)
	}
	if got := late.Found(t.Context()); !strings.Contains(got, "a.x, line 3: error: new") || strings.Contains(got, "old") {
		t.Errorf("late: %s", got)
	}
	who.list = nil // for a moment, while the editor looks at the file
	late.Found(t.Context())
	who.list = []Diagnostic{{Message: "old"}, {Message: "new", Line: 3}}
	if got := late.Found(t.Context()); got != "" {
		t.Errorf("again: %s", got)
	}
}
