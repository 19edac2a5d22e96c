package codeexec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/tools"
)

// scriptName is the file name of a script in tracebacks.
const scriptName = "script.py"

// staging is the private directory of a script: the script, hermes_tools, the socket.
type staging struct {
	dir    string
	remove func()
}

// newStaging makes a staging directory that only the script's sandbox reaches. If the server dies,
// the directory is removed.
func newStaging(ctx context.Context, box *sandbox.Box) (*staging, error) {
	dir, err := sandbox.Private{Box: box, Kind: "exec"}.Make(ctx)
	if err != nil {
		return nil, fmt.Errorf("making a directory for the script: %w", err)
	}
	s := &staging{dir.Path(), dir.Remove}
	return s, s.fillIn()
}

// fillIn makes the directories in it. If it returns an error, it removes the staging directory.
func (s *staging) fillIn() error {
	for _, name := range []string{"lib", "boot", "work"} {
		if err := os.Mkdir(s.path(name), 0o700); err != nil {
			s.remove()
			return fmt.Errorf("making a directory for the script: %w", err)
		}
	}
	return nil
}

// stagings is the parent of the staging directories of a session's sequential scripts. Scripts see
// it but cannot write it. Its path stays the same, so their sandbox is made once.
type stagings struct {
	turn sync.Mutex   // held while a script has a staging directory in it
	dir  *scratch.Dir // nil: no script has run
	made int
}

// add makes a staging directory in it. The caller holds turn.
func (s *stagings) add() (*staging, error) {
	var err error
	if s.dir == nil {
		s.dir, err = scratch.Make("exec")
	}
	dir := ""
	if err == nil {
		s.made++
		dir = s.dir.Path(strconv.Itoa(s.made)) // short: a socket's path is limited
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("making a directory for the script: %w", err)
	}
	stage := &staging{dir, func() { os.RemoveAll(dir) }} // if it fails, the session's end removes it
	return stage, stage.fillIn()
}

// close waits for a script and removes the directory.
func (s *stagings) close() {
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.dir != nil {
		s.dir.Remove()
		s.dir = nil
	}
}

func (s *staging) path(name string) string { return filepath.Join(s.dir, name) }

// write makes a file in it. If the name exists, write changes nothing and returns an error.
func (s *staging) write(name, text string) error {
	f, err := os.OpenFile(s.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("writing the script's files: %w", err)
	}
	return nil
}

// fill writes our Python files. Only hermes_tools is on the import path, because a workspace may
// contain modules called start and kernel.
func (s *staging) fill(functions []tools.Tool) error {
	module, err := module(functions)
	if err != nil {
		return err
	}
	if err := s.write("lib/hermes_tools.py", module); err != nil {
		return err
	}
	if err := s.write("boot/kernel.py", kernelSource); err != nil {
		return err
	}
	return s.write("boot/start.py", startSource)
}
