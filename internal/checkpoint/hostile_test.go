//go:build unix

package checkpoint

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/safefile/hostile"
)

// A repository that has something else in the place of a file of its objects keeps
// nothing waiting.
func TestHostileObjects(t *testing.T) {
	t.Parallel()
	for _, thing := range hostile.Things(t) {
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
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				_, err = b.store.sizes(ctx, objects, [][20]byte{id})
				if ctx.Err() != nil {
					t.Errorf("git waited: %v", err)
				}
			})
		}
	}
}
