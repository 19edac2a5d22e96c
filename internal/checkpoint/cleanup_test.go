package checkpoint

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// A clean-up runs at the worst moment. This is between the last scan of a turn and the first scan
// of the next turn, which reuses its result, or between a first scan and the first command. The
// contents found in the store by the scan are then gone. The command's record must still have them.
func TestCleanUpBetweenScans(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before the first scan", "before the command"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, map[string]string{"f": "one"})
			cleanUp := func() {
				// The record of the first turn keeps the content, too. There may be no room for it.
				for _, r := range must(b.records(t.Context())) {
					if r.Title == "First" {
						if err := b.store.removeRecord(b.Session, r.ID); err != nil {
							t.Error(err)
						}
					}
				}
				for errors.Is(b.store.Prune(t.Context(), plenty), errInUse) {
				}
			}
			// A turn whose last scan runs after the next turn has begun.
			b.Begin("First")
			last := b.Keeper.snapshot
			done := b.BeginCommand(t.Context())
			last.scanning <- struct{}{}
			b.sh("echo two > f")
			done()
			var armed atomic.Bool
			armed.Store(when == "before the first scan")
			free := func() bool {
				b.store.shared.mu.Lock()
				defer b.store.shared.mu.Unlock()
				return b.store.shared.n == 0
			}
			b.Limits = func() Limits {
				if armed.Load() && free() {
					cleanUp()
				}
				return plenty
			}
			b.Begin("Second")
			<-last.scanning
			<-b.Keeper.snapshot.ready
			armed.Store(false)
			if when == "before the command" {
				// Another process has scanned the workspace since, and has written its tree.
				other := New(strings.TrimSuffix(b.store.dir, "checkpoints"))
				if err := other.save(&tree{entries: map[string]entry{}}, newest(b.Files.Folders())); err != nil {
					t.Fatal(err)
				}
				cleanUp()
			}
			// No scan right before the command saves the content again.
			next := b.Keeper.snapshot
			next.scanning <- struct{}{}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			done = b.BeginCommand(ctx)
			b.sh("echo three > f")
			<-next.scanning
			done()
			b.End()
			for _, r := range must(b.records(t.Context())) {
				for _, c := range r.changes {
					if _, err := b.content(c.Before); err != nil {
						t.Errorf("%s: %s: %v", r.Title, c.Path, err)
					}
				}
			}
		})
	}
}
