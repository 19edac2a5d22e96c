// Package filelock lets one process at a time change a file. Lock waits for the other processes. If a process ends, the
// system releases its locks.
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

// Lock locks the file at path and creates it if it does not exist. If another process or goroutine holds the lock, Lock
// waits until ctx ends, and then returns an error. The lock file is not removed, because another process may wait for it.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|flags, 0o600)
		if err != nil {
			return nil, err
		}
		locked, err := try(f)
		if locked {
			return func() { _ = f.Close() }, nil
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
