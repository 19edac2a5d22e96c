package mcp

import (
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// restartMark is the file whose time tells sessions to connect a server again. dir is [Dir].
func restartMark(dir, name string) string {
	return filepath.Join(filepath.Dir(dir), "restart", safefile.NameOf(name))
}

// RequestRestart makes all running sessions connect a server again, at their next call.
func RequestRestart(home, name string) error {
	mark := restartMark(Dir(home), name)
	if err := os.MkdirAll(filepath.Dir(mark), 0o700); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(time.Now().Format(time.RFC3339Nano)+"\n"), 0o600)
}

// outdated reports whether the user has requested a restart since the connection began.
func (s *Servers) outdated(name string, began time.Time) bool {
	if s.cfg.Dir == "" {
		return false
	}
	info, err := os.Stat(restartMark(s.cfg.Dir, name))
	return err == nil && info.ModTime().After(began)
}
