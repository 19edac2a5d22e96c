package codeexec

import (
	"errors"
	"fmt"
	"os"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/tools"
)

// scriptName is the file name of a script in tracebacks.
const scriptName = "script.py"

// staging is the private directory of a script: the script, hermes_tools, the socket.
type staging struct{ dir *scratch.Dir }

// newStaging makes a staging directory. If the server dies, the directory is removed.
func newStaging() (*staging, error) {
	dir, err := scratch.Make("exec")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the script: %w", err)
	}
	s := &staging{dir}
	for _, name := range []string{"lib", "boot", "work"} {
		if err := os.Mkdir(s.path(name), 0o700); err != nil {
			dir.Remove()
			return nil, fmt.Errorf("making a directory for the script: %w", err)
		}
	}
	return s, nil
}

func (s *staging) path(name string) string { return s.dir.Path(name) }

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

// fill writes the Python files of ours. Only hermes_tools is where imports look, because a
// workspace may have modules called start and kernel.
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
