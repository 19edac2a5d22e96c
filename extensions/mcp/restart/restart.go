// Package restart lets a command of the user restart MCP servers of running sessions. The
// modification time of a file is the time of the request. Sessions compare it with the start of a
// connection.
package restart

import (
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// mark is the file of a server. dir is the directory in which servers start.
func mark(dir, name string) string {
	return filepath.Join(filepath.Dir(dir), "restart", safefile.NameOf(name))
}

// Request makes all running sessions connect a server again, at their next call.
func Request(dir, name string) error {
	file := mark(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	now := time.Now()
	if err := os.WriteFile(file, []byte(now.Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
		return err
	}
	return os.Chtimes(file, now, now) // the clock of the file system can be late
}

// Since reports whether a restart was requested after a connection began.
func Since(dir, name string, began time.Time) bool {
	if dir == "" {
		return false
	}
	info, err := os.Stat(mark(dir, name))
	return err == nil && info.ModTime().After(began)
}
