//go:build unix

package hostile

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func unixObstacles() []Obstacle {
	return []Obstacle{
		{"named pipe", func(t testing.TB, path string) { must(t, syscall.Mkfifo(makeRoom(t, path), 0o600)) }},
		{"socket", putSocket},
		{"link to /dev/zero", link("/dev/zero")},
		{"link to itself", func(t testing.TB, path string) { link(filepath.Base(path))(t, path) }},
		{"link to a named pipe", func(t testing.TB, path string) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			must(t, syscall.Mkfifo(pipe, 0o600))
			link(pipe)(t, path)
		}},
	}
}

func link(target string) func(t testing.TB, path string) {
	return func(t testing.TB, path string) { must(t, os.Symlink(target, makeRoom(t, path))) }
}

// putSocket creates the socket elsewhere and moves it, because a socket's path must be short.
func putSocket(t testing.TB, path string) {
	short, err := os.MkdirTemp("", "s")
	must(t, err)
	defer os.RemoveAll(short) // a test's own
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s"), Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	must(t, l.Close())
	must(t, os.Rename(filepath.Join(short, "s"), makeRoom(t, path)))
}
