package editor

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.lsp.dev/uri"
)

// Changes are applied in the order of their versions, in any order of arrival. A missing change
// delays the rest for a second.
func TestInOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		come []int32
		want []int32 // at once
		late []int32 // after a second
	}{
		"as made":       {[]int32{1, 2, 3}, []int32{1, 2, 3}, []int32{1, 2, 3}},
		"overtaken":     {[]int32{2, 3, 1, 5, 4}, []int32{1, 2, 3, 4, 5}, []int32{1, 2, 3, 4, 5}},
		"one is lost":   {[]int32{1, 4, 3}, []int32{1}, []int32{1, 3, 4}},
		"version twice": {[]int32{1, 1, 2}, []int32{1, 1, 2}, []int32{1, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got []int32
				o := inOrder{apply: func(r revision) error { got = append(got, r.version); return nil }}
				const file = uri.URI("file:///a")
				o.opened(file, 0)
				for _, v := range c.come {
					if err := o.take(revision{uri: file, version: v}); err != nil {
						t.Fatal(err)
					}
				}
				o.mu.Lock()
				now := slices.Clone(got)
				o.mu.Unlock()
				if !slices.Equal(now, c.want) {
					t.Errorf("applied %v, want %v", now, c.want)
				}
				time.Sleep(2 * heldFor)
				synctest.Wait()
				o.mu.Lock()
				defer o.mu.Unlock()
				if !slices.Equal(got, c.late) {
					t.Errorf("applied in the end %v, want %v", got, c.late)
				}
			})
		})
	}
}
