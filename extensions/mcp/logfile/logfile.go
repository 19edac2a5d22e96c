// Package logfile writes the log files of MCP servers.
package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Largest limits a log file. A full file is kept with the ending .1, until the next is full.
const Largest = 1 << 20

// File writes the output of a server to a file. If its path is empty, it writes nothing.
type File struct {
	Path string

	mu   sync.Mutex
	file *os.File
}

// Write appends a line. Errors are ignored, because the server works without its log.
func (l *File) Write(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Path == "" || !l.open() {
		return
	}
	line = time.Now().Format(time.RFC3339) + " " + line + "\n"
	if l.full(len(line)) {
		l.closeFile()
		if !l.open() {
			return
		}
	}
	_, _ = l.file.WriteString(line)
}

// full reports whether the file must be opened again: it was full and was kept with the ending .1,
// by this or by another process.
func (l *File) full(more int) bool {
	info, err := l.file.Stat()
	if err != nil || info.Size()+int64(more) <= Largest {
		return false
	}
	if now, err := os.Stat(l.Path); err == nil && os.SameFile(info, now) {
		_ = os.Rename(l.Path, l.Path+".1")
	}
	return true
}

// Tail returns the last lines of the file.
func (l *File) Tail(n int) ([]string, error) {
	data, err := os.ReadFile(l.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(data) == 0 {
		return nil, nil
	}
	return lines[max(0, len(lines)-n):], nil
}

func (l *File) open() bool {
	if l.file != nil {
		return true
	}
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o700); err != nil {
		return false
	}
	file, err := os.OpenFile(l.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return false
	}
	l.file = file
	return true
}

func (l *File) closeFile() {
	if l.file != nil {
		_ = l.file.Close() // nothing is left to write
		l.file = nil
	}
}

// Close closes the file. A later line opens it again.
func (l *File) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFile()
}
