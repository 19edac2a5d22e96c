package delegate_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/delegate"
)

// TestFreshSessionAsksNoStore checks the first turn of a new session. It must not wait for a
// query of the store.
func TestFreshSessionAsksNoStore(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]bool{"new": true, "loaded": false} {
		path := filepath.Join(t.TempDir(), store.FileName)
		st := store.New(path, store.Options{})
		children := delegate.New(delegate.Config{Store: st})
		if fresh {
			children.SetNew()
		}
		if news := children.Notice(t.Context(), "parent"); news != "" {
			t.Errorf("%s: news of nobody: %s", name, news)
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) != fresh {
			t.Errorf("%s: looking for the store gives %v", name, err)
		}
		if err := errors.Join(children.Close(t.Context()), st.Close()); err != nil {
			t.Error(err)
		}
	}
}
