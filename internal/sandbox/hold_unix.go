//go:build unix

package sandbox

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
)

// holdFolder keeps the layers of a workspace from being swept until it is closed.
func holdFolder(dir string) (io.Closer, error) {
	f, err := lockFolder(dir, filelock.Shared)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	os.Chtimes(f.Name(), now, now) // it is swept earlier then
	return held{f}, nil
}

// ownFolder locks unused layers.
func ownFolder(dir string) (io.Closer, error) {
	f, err := lockFolder(dir, filelock.Exclusive)
	if err != nil {
		return nil, err
	}
	return held{f}, nil
}

// held is a locked file.
type held struct{ f *os.File }

func (h held) Close() error {
	filelock.Release(h.f)
	return nil
}

func lockFolder(dir string, kind filelock.Kind) (*os.File, error) {
	f, err := filelock.Open(filepath.Join(dir, "lock"), os.O_CREATE)
	if err != nil {
		return nil, err
	}
	locked, err := filelock.Try(f, kind)
	if !locked {
		_ = f.Close() // nothing was written
		return nil, errors.Join(err, errInUse)
	}
	return f, nil
}

var errInUse = errors.New("another process uses the layers")
