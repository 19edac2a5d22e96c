package codeexec

import (
	"errors"
	"fmt"
	"os"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// scriptName is what a script's file is called in tracebacks.
const scriptName = "script.py"

// staging is the private folder of a script: the script, our module, the socket.
type staging struct{ dir *scratch.Dir }

// newStaging makes one, which does not outlive its server.
func newStaging() (*staging, error) {
	dir, err := scratch.Make("exec")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the script: %w", err)
	}
	s := &staging{dir}
	for _, name := range []string{"lib", "boot", "work"} {
		if err := os.Mkdir(s.path(name), 0o700); err != nil {
			dir.Remove()
			return nil, fmt.Errorf("making a folder for the script: %w", err)
		}
	}
	return s, nil
}

func (s *staging) path(name string) string { return s.dir.Path(name) }

// write makes a file there. If something has its name, write changes nothing and
// returns an error.
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

// fill puts there what a script needs. Only hermes_tools lies where imports look: a
// workspace may have modules of its own called start and kernel.
func (s *staging) fill(functions []function) error {
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
