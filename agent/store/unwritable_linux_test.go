package store_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// asNobody runs f on a thread without root's access to files. Root may write everywhere, so
// tests run as root would detect nothing.
func asNobody(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if os.Geteuid() == 0 {
			if _, err := unix.SetfsuidRetUid(65534); err != nil {
				panic(err)
			}
		}
		f()
	}()
	<-done
}

func TestReadOnlyHome(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, home string){
		"no store yet": func(t *testing.T, home string) {},
		"a store that may be read only": func(t *testing.T, home string) {
			fill(t, filepath.Join(home, store.FileName))
			if err := os.Chmod(filepath.Join(home, store.FileName), 0o444); err != nil {
				t.Fatal(err)
			}
		},
		"a folder that may be read only": func(t *testing.T, home string) {
			fill(t, filepath.Join(home, store.FileName))
			if err := os.Chmod(filepath.Join(home, store.FileName), 0o666); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if err := os.Chmod(filepath.Dir(home), 0o755); err != nil { // otherwise it is not visible
				t.Fatal(err)
			}
			prepare(t, home)
			if err := os.Chmod(home, 0o555); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(home, 0o755) }) // so an ordinary user can remove it
			s := store.New(filepath.Join(home, store.FileName), store.Options{})
			var claimed, created error
			asNobody(func() {
				_, claimed = s.Claim("x")
				created = s.Create(t.Context(), store.Session{ID: "x"})
			})
			for _, err := range []error{claimed, created} {
				if err == nil || !strings.Contains(err.Error(), s.Path()) || !strings.Contains(err.Error(), "set HERMES_HOME") {
					t.Errorf("err = %v", err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
