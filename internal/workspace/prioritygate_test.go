package workspace

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/search"
)

// A scan waits while searches run, unless a turn waits for it or it is canceled.
func TestScanYields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		during func(w *Workspace, cancel func()) // beside two searches of five and ten seconds
		took   time.Duration
		err    bool
	}{
		{"to every search", func(*Workspace, func()) {}, 10 * time.Second, false},
		{"but not while boosted", func(w *Workspace, _ func()) {
			time.Sleep(2 * time.Second)
			w.Boost() // and never stops
		}, 2 * time.Second, false},
		{"again after a boost", func(w *Workspace, _ func()) {
			w.Boost()()
		}, 10 * time.Second, false},
		{"until it is canceled", func(_ *Workspace, cancel func()) {
			time.Sleep(3 * time.Second)
			cancel()
		}, 3 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			writeFiles(t, dir, map[string]string{"a/b.txt": "x"})
			synctest.Test(t, func(t *testing.T) {
				w, err := Open([]string{dir}, nil)
				must(t, err)
				defer w.Close()
				child, err := w.Fork() // a subagent's searches count too
				must(t, err)
				defer child.Close()
				for i, w := range []*Workspace{w, child} {
					w.Ripgrep = func(context.Context, []string, string, io.Writer) (int, error) {
						time.Sleep(time.Duration(i+1) * 5 * time.Second)
						return 1, nil
					}
					go func() { _, _ = w.Search(context.Background(), search.Query{Files: true}) }()
				}
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				go c.during(w, cancel)
				synctest.Wait()
				var found atomic.Int64
				err = w.Scan(ctx, Scan{Visit: func(f []Entry) { found.Add(int64(len(f))) }})
				if took := time.Since(began); took != c.took || (err != nil) != c.err || !c.err && found.Load() != 2 {
					t.Errorf("took %v, want %v; %d found, error %v", took, c.took, found.Load(), err)
				}
				time.Sleep(time.Minute) // all searches end
			})
		})
	}
}
