//go:build unix

package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// holdFolder keeps the layers of a workspace from being swept until it is closed.
func holdFolder(dir string) (io.Closer, error) {
	f, err := openLock(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	now := time.Now()
	os.Chtimes(f.Name(), now, now) // it is swept earlier then
	return held{f}, nil
}

// ownFolder locks unused layers.
func ownFolder(dir string) (io.Closer, error) {
	f, err := openLock(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return held{f}, nil
}

// held is a locked file.
type held struct{ f *os.File }

func (h held) Close() error {
	scratch.Release(h.f)
	return nil
}

func openLock(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
}
