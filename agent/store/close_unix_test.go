//go:build unix

package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// TestCloseEndsAnOpening closes a store whose opening waits for another process. Close returns
// anyway.
func TestCloseEndsAnOpening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	other, err := sql.Open("sqlite", "file:"+path+"?_pragma=locking_mode(exclusive)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "CREATE TABLE t (a)"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // only the waits of the opening take time
		s := store.New(path, store.Options{})
		opened := make(chan error, 1)
		go func() {
			_, _, err := s.List(context.Background(), store.Filter{})
			opened <- err
		}()
		for begun := false; !begun; time.Sleep(time.Millisecond) { // the first action of an opening
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			begun = info.Mode().Perm() == 0o600
		}
		began := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-opened; !errors.Is(err, store.ErrClosed) {
			t.Errorf("the opening ended with %v", err)
		}
		if took := time.Since(began); took > 5*time.Second { // half of an opening's maximum wait
			t.Errorf("Close took %v", took)
		}
	})
}
