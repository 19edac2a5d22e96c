package editor

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// heldFor is the maximum time for which a change waits for earlier changes.
const heldFor = time.Second

// revision is a message's changes of a document.
type revision struct {
	uri     uri.URI
	version int32
	changes []workspace.Change
}

// keep makes a revision last longer than its message.
func (r revision) keep() revision {
	r.uri = uri.URI(strings.Clone(string(r.uri)))
	for i := range r.changes {
		r.changes[i].Text = strings.Clone(r.changes[i].Text)
	}
	return r
}

// inOrder puts changes of documents into the order of their versions. Helix sends each change from
// a separate task, so changes by a fast typist overtake each other. Its versions grow by one.
type inOrder struct {
	apply func(revision) error

	mu    sync.Mutex
	files map[uri.URI]*sequence
}

// sequence is a document's changes.
type sequence struct {
	last int32 // the applied version
	held []revision
	late *time.Timer // runs while something is held
}

// opened says at which version a document begins.
func (o *inOrder) opened(u uri.URI, version int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.files == nil {
		o.files = map[uri.URI]*sequence{}
	}
	o.files[uri.URI(strings.Clone(string(u)))] = &sequence{last: version}
}

func (o *inOrder) closed(u uri.URI) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.files, u)
}

// take applies a change and the changes waiting for it. If earlier changes are missing, it holds
// the change, for at most heldFor.
func (o *inOrder) take(r revision) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.files[r.uri]
	if s == nil {
		return o.apply(r)
	}
	s.held = append(s.held, r.keep())
	slices.SortStableFunc(s.held, func(a, b revision) int { return int(a.version) - int(b.version) })
	err := o.drain(s, false)
	if len(s.held) > 0 && s.late == nil {
		s.late = time.AfterFunc(heldFor, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			_ = o.drain(s, true) // the next change says the same
		})
	}
	return err
}

// drain applies the due revisions. If all is true, it applies all of them. The lock is held.
func (o *inOrder) drain(s *sequence, all bool) error {
	var errs []error
	for len(s.held) > 0 && (all || s.held[0].version <= s.last+1) {
		r := s.held[0]
		s.held, s.last = s.held[1:], max(s.last, r.version)
		errs = append(errs, o.apply(r))
	}
	if len(s.held) == 0 && s.late != nil {
		s.late.Stop()
		s.late = nil
	}
	return errors.Join(errs...)
}
