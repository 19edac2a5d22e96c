//go:build unix

package checkpoint

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/safefile/hostile"
)

// A repository with another kind of file in place of an object blocks nothing.
func TestHostileObjects(t *testing.T) {
	t.Parallel()
	for _, thing := range hostile.Obstacles(t) {
		for _, place := range []string{"info/alternates", "pack/pack-1.idx", "pack/pack-1.pack", "LOOSE", "other/info/alternates"} {
			t.Run(thing.Name+" "+place, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, map[string]string{"a.txt": "one\n"})
				b.sh("git init -q .; git add .; git commit -qm one; git rev-parse :a.txt >id; mkdir -p .git/objects/other; case " + place + " in other/*) echo other >.git/objects/info/alternates;; esac")
				content, err := os.ReadFile(filepath.Join(b.dir, "id"))
				if err != nil {
					t.Fatal(err)
				}
				text := strings.TrimSpace(string(content))
				var id [20]byte
				if _, err := hex.Decode(id[:], []byte(text)); err != nil {
					t.Fatal(err)
				}
				objects := filepath.Join(b.dir, ".git", "objects")
				thing.Put(t, filepath.Join(objects, filepath.FromSlash(strings.Replace(place, "LOOSE", text[:2]+"/"+text[2:], 1))))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err = b.store.git.sizes(ctx, nil, objects, [][20]byte{id})
				if ctx.Err() != nil {
					t.Errorf("git waited: %v", err)
				}
			})
		}
	}
}

// A command replaces a folder by a link after a checkpoint. No file is restored, removed, shown
// or saved through the link, for any target.
func TestRestoreBehindLink(t *testing.T) {
	t.Parallel()
	for _, target := range []string{".git/hooks", "other", "OUTSIDE", "loop"} {
		for _, again := range []string{"", "mkdir d.new; mv d d.link; mv d.new d; rm -r d; mv d.link d"} {
			t.Run(target+again, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, map[string]string{"d/pre-commit": "evil\n", "d/e/deep": "evil\n", "other/x": "the user's\n"})
				outside := t.TempDir()
				b.sh("git init -q .; git add .; git commit -qm one; mkdir -p .git/hooks; rm -f .git/hooks/*; chmod +x d/pre-commit")
				b.turn("one", func() {
					b.shell("echo made >d/made; rm -r d; ln -s " + strings.Replace(target, "OUTSIDE", outside, 1) + " d; ln -s loop loop; " + again)
				})
				// With force, and for whole folders: the link is the later change.
				b.turn("two", func() { b.shell("touch other/y") })
				b.restoreWith("one", Choice{Force: func(string) bool { return true }}, "d/pre-commit", "d/e/deep")
				for _, dir := range []string{b.path(".git/hooks"), outside} {
					if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
						t.Errorf("%s holds %v, %v", dir, found, err)
					}
				}
				if found, err := os.ReadDir(b.path("other")); err != nil || len(found) != 2 {
					t.Errorf("other holds %v, %v", found, err)
				}
				b.restoreWith("one", Choice{Force: func(string) bool { return true }})
				if text, err := os.ReadFile(b.path("d/pre-commit")); string(text) != "evil\n" || err != nil {
					t.Errorf("with its folder it is restored as %q, %v", text, err)
				}
			})
		}
	}
}

// A command exchanges the folder for a link to .git/hooks and back while a restore runs.
func TestRestoreWhileSwapped(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for i := range 60 {
		b.write("d/sub/"+string(rune('A'+i))+"-commit", "evil\n")
	}
	b.sh("git init -q .; git add .; git commit -qm one; rm -f .git/hooks/*; mkdir -p .git/hooks/sub; ln -s .git/hooks link")
	b.turn("one", func() { b.shell("for f in d/sub/*; do echo spoiled >$f; done") })
	var stop atomic.Bool
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for !stop.Load() {
			for _, move := range [][2]string{{"d", "real"}, {"link", "d"}, {"d", "link"}, {"real", "d"}} {
				_ = os.Rename(b.path(move[0]), b.path(move[1]))
			}
		}
	})
	for range 5 {
		b.restoreWith("one", Choice{Force: func(string) bool { return true }})
	}
	stop.Store(true)
	swapping.Wait()
	found, err := os.ReadDir(b.path(".git/hooks/sub"))
	if err != nil || len(found) > 0 {
		t.Errorf("the hooks are %v, %v", found, err)
	}
}

// A command replaces a file or a folder by a pipe or a socket. These have no content. A restore
// replaces them and does not wait for them.
func TestRestoreOverPipe(t *testing.T) {
	t.Parallel()
	for _, thing := range hostile.Obstacles(t) {
		if thing.Name != "named pipe" && thing.Name != "socket" {
			continue
		}
		t.Run(thing.Name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, map[string]string{"a.txt": "one\n", "d/b.txt": "two\n"})
			b.sh("git init -q .; git add .; git commit -qm one")
			before := b.tree()
			b.turn("one", func() {
				done := b.BeginCommand(t.Context())
				defer done()
				thing.Put(t, b.path("a.txt"))
				thing.Put(t, b.path("d"))
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			list := b.list()
			if diff, err := b.Diff(ctx, list[0].ID, nil); err != nil || !strings.Contains(diff, "two") {
				t.Errorf("%q, %v", diff, err)
			}
			out, err := b.Restore(ctx, list[0].ID, Choice{})
			if now := b.tree(); err != nil || now != before || len(out.Kept) > 0 {
				t.Errorf("%+v, %v: it is\n%s\nand was\n%s", out, err, now, before)
			}
		})
	}
}
