// Package filelock locks files between processes. If a process ends, the system releases its locks. Lock waits for the
// other processes that change a file.
//
//	unlock, err := filelock.Lock(ctx, path+".lock")
//	if err != nil {
//		return err
//	}
//	defer unlock()
package filelock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// retry is the time between two attempts.
const retry = 5 * time.Millisecond

// Kind is a kind of lock.
type Kind bool

// An Exclusive lock excludes all other locks of the file.
const (
	Shared    Kind = false
	Exclusive Kind = true
)

// Lock locks the file at path and creates it if it does not exist. If another process or goroutine holds the lock, Lock
// waits until ctx ends, and then returns an error. The lock file is not removed, because another process may wait for it.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	for {
		f, err := Open(path, os.O_CREATE)
		if err != nil {
			return nil, err
		}
		locked, err := Try(f, Exclusive)
		if locked {
			return func() { Release(f) }, nil
		}
		_ = f.Close() // nothing was written
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("locking %s: %w", path, context.Cause(ctx))
		case <-time.After(retry):
		}
	}
}

// Open opens a file to lock. It follows no link and waits for no pipe. flags are further ones, such as os.O_CREATE.
func Open(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|flags|safe, 0o600)
}

// Try locks f until [Release]. If another holder prevents the lock, it returns false and no error.
func Try(f *os.File, kind Kind) (bool, error) { return lock(f, kind, false) }

// Wait locks f until [Release]. While another holder prevents the lock, it waits.
func Wait(f *os.File, kind Kind) error {
	_, err := lock(f, kind, true)
	return err
}
