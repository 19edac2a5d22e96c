package codeexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
)

const (
	probeLimit  = 15 * time.Second
	oldestMinor = 8 // of Python 3
)

// probeCode prints the version, program, prefix and base prefix, each on a line. It fails if a
// module for scripts is missing.
const probeCode = `import sys, json, socket, threading
print('.'.join(map(str, sys.version_info[:3])), sys.executable, sys.prefix, sys.base_prefix, sep='\n')`

// Pythons caches the results of probed interpreters by path and modification time. It is safe for
// concurrent use and can be shared by sessions.
type Pythons struct {
	limit time.Duration // of one probe
	lock  chan struct{} // one probe at a time; a channel, so a canceled probe need not wait
	tried map[string]verdict
}

// NewPythons returns a Pythons with an empty cache.
func NewPythons() *Pythons {
	return &Pythons{limit: probeLimit, lock: make(chan struct{}, 1), tried: map[string]verdict{}}
}

// verdict is the result of a probe.
type verdict struct {
	python Python
	err    error
}

// probe tries an interpreter. If it has not changed since an earlier probe, the cached result is
// returned.
func (p *Pythons) probe(ctx context.Context, c candidate, s Search) (Python, error) {
	select {
	case p.lock <- struct{}{}:
		defer func() { <-p.lock }()
	case <-ctx.Done():
		return Python{}, ctx.Err()
	}
	key := stamp(c.path, s)
	v, known := p.tried[key]
	if !known {
		v.python, v.err = p.try(ctx, c.path, s)
		var late *lateError
		if ctx.Err() == nil && !errors.As(v.err, &late) { // a slow disk may be faster the next time
			p.tried[key] = v
		}
	}
	v.python.Why = c.why
	return v.python, v.err
}

// lateError reports an interpreter that did not answer in time.
type lateError struct{ limit time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("it did not answer within %v", e.limit) }

// try runs an interpreter once.
func (p *Pythons) try(ctx context.Context, path string, s Search) (Python, error) {
	limited, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	var out, errs bytes.Buffer
	dir := filepath.Dir(path)
	if len(s.Folders) > 0 {
		dir = s.Folders[0] // a shim chooses by the working directory
	}
	c := proc.Cmd{
		Args: []string{path, "-I", "-B", "-c", probeCode}, Dir: dir, Env: environ(s.Environ, nil),
		Stdout: &atMost{to: &out, left: 64 << 10}, Stderr: &atMost{to: &errs, left: 64 << 10},
	}
	if s.Confine != nil {
		if err := s.Confine(limited, &c); err != nil {
			return Python{}, err
		}
	}
	exit, err := proc.Run(limited, c)
	switch {
	case ctx.Err() != nil:
		return Python{}, ctx.Err()
	case limited.Err() != nil:
		return Python{}, &lateError{p.limit}
	case err != nil:
		return Python{}, err
	case exit.Code != 0:
		return Python{}, fmt.Errorf("it ends with exit code %d%s", exit.Code, lastLine(errs.String()))
	}
	return understand(path, out.String())
}

// lastLine returns the last line of an error output, for a message.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + shorten.OneLine(last, 200)
	}
	return ""
}

// understand reads the output of a probe. The start of the interpreter may have printed
// something before it.
func understand(path, said string) (Python, error) {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if len(lines) < 4 {
		return Python{}, errors.New("it does not behave like Python")
	}
	lines = lines[len(lines)-4:]
	found := Python{Path: path, Version: lines[0]}
	if isShim(path) && isFile(lines[1]) {
		found.Path = lines[1] // starts faster than the shim
	}
	major, rest, _ := strings.Cut(found.Version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	switch {
	case err != nil:
		return Python{}, errors.New("it does not behave like Python")
	case major != "3" || n < oldestMinor:
		return Python{}, fmt.Errorf("it is Python %s, and 3.%d or newer is needed", found.Version, oldestMinor)
	}
	prefix, base := lines[2], lines[3]
	if info, err := os.Stat(filepath.Join(prefix, "conda-meta")); err == nil && info.IsDir() {
		found.Prefix, found.Conda = prefix, true
	} else if prefix != base {
		found.Prefix = prefix
	}
	return found, nil
}

// isShim reports whether path is a program of pyenv, asdf or mise that chooses the real interpreter
// at run time.
func isShim(path string) bool { return filepath.Base(filepath.Dir(path)) == "shims" }

// stamp identifies the state of an interpreter: its link target, its environment, and for a shim
// the files that select the version.
func stamp(path string, s Search) string {
	files := []string{path, filepath.Join(filepath.Dir(path), "..", "pyvenv.cfg")}
	key := path
	if isShim(path) {
		dirs := []string{filepath.Join(filepath.Dir(path), "..")}
		if len(s.Folders) > 0 {
			for dir := s.Folders[0]; ; dir = filepath.Dir(dir) {
				dirs = append(dirs, dir)
				if dir == filepath.Dir(dir) {
					break
				}
			}
			key += "\x00" + s.Folders[0]
		}
		for _, dir := range dirs {
			for _, name := range []string{".python-version", ".tool-versions", "mise.toml", ".mise.toml", "version"} {
				files = append(files, filepath.Join(dir, name))
			}
		}
		key += "\x00" + lookup(s.Environ, "PYENV_VERSION")
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			key += fmt.Sprintf("\x00%d,%d", info.ModTime().UnixNano(), info.Size())
		} else {
			key += "\x00-"
		}
	}
	return key
}

// atMost keeps the first left bytes of its input.
type atMost struct {
	to   *bytes.Buffer
	left int
}

func (a *atMost) Write(b []byte) (int, error) {
	n := min(len(b), a.left)
	a.left -= n
	a.to.Write(b[:n])
	return len(b), nil
}
