package mcp

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// LogFile returns the file with the output of the server with this name.
func LogFile(home, name string) string {
	return filepath.Join(home, "logs", "mcp-"+labelOf(name)+".log")
}

// largestLog limits a log file. A full one is kept with the ending .1, until the next is full.
const largestLog = 1 << 20

// logFile writes what a server says to a file.
type logFile struct {
	path string // empty: nothing is written

	mu   sync.Mutex
	file *os.File
	size int64
}

// write appends a line. Errors are ignored, because the server works without its log.
func (l *logFile) write(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == "" || !l.open() {
		return
	}
	n, _ := l.file.WriteString(time.Now().Format(time.RFC3339) + " " + line + "\n")
	if l.size += int64(n); l.size < largestLog {
		return
	}
	l.closeFile()
	_ = os.Rename(l.path, l.path+".1")
}

func (l *logFile) open() bool {
	if l.file != nil {
		return true
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return false
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return false
	}
	l.file, l.size = file, info.Size()
	return true
}

func (l *logFile) closeFile() {
	if l.file != nil {
		_ = l.file.Close() // nothing is left to write
		l.file = nil
	}
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFile()
}
