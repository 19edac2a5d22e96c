package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// TestWritesTogether checks concurrent writes. They share transactions, but not each other's
// failures.
func TestWritesTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	s, other := at(t, path), at(t, path)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			id := store.NewID()
			first := said(model.User, "go")
			if err := s.Create(t.Context(), store.Session{ID: id, Title: fmt.Sprint(i)}, first); err != nil {
				t.Error(err)
				return
			}
			for n := range 3 {
				m := said(model.Assistant, "well")
				if i%10 == 0 {
					m.Seq = 7 // not the next Seq
				}
				switch err := s.Append(t.Context(), id, m); {
				case i%10 == 0 && !errors.Is(err, store.ErrConflict):
					t.Errorf("a wrong Seq: %v", err)
				case i%10 != 0 && (err != nil || m.Seq != int64(n+2)):
					t.Errorf("message %d: Seq %d, %v", n, m.Seq, err)
				}
			}
			if err := s.Append(gone, id, said(model.Assistant, "too late")); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled write: %v", err)
			}
			if err := s.SetOrigin(t.Context(), id, fmt.Sprint("o", i)); err != nil {
				t.Error(err)
			}
			want := 4
			if i%10 == 0 {
				want = 1
			}
			head, err := other.Session(t.Context(), id) // a write is durable after its return
			if err != nil || head.Messages != want || head.Origin != fmt.Sprint("o", i) || head.Title != fmt.Sprint(i) {
				t.Errorf("%d: %+v, %v", i, head, err)
			}
		})
	}
	all.Wait()
	if err := s.SetOrigin(t.Context(), "nobody", "x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
