package sandbox

import (
	"fmt"
	"os"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// Temp holds the replacements for a session's commands: /tmp, and hidden paths. It is removed with
// its server, even if the server is killed.
type Temp struct {
	dir *scratch.Dir

	mu       sync.Mutex
	homes    map[string]bool   // existing stand-ins for the home
	contents map[string][]byte // of files in them
}

func newTemp() (*Temp, error) {
	dir, err := scratch.New("tmp")
	if err != nil {
		return nil, fmt.Errorf("making the session's temporary folder: %w", err)
	}
	t := &Temp{dir: dir, homes: map[string]bool{}, contents: map[string][]byte{}}
	if err := t.fill(); err != nil {
		dir.Remove()
		return nil, fmt.Errorf("making the session's temporary folder: %w", err)
	}
	return t, nil
}

func (t *Temp) fill() error {
	if err := os.Mkdir(t.tmp(), 0o700); err != nil {
		return err
	}
	if err := os.Chmod(t.tmp(), 0o777|os.ModeSticky); err != nil { // as /tmp is; the folder around it is private
		return err
	}
	if err := os.WriteFile(t.blank(), nil, 0); err != nil {
		return err
	}
	return os.Mkdir(t.nothing(), 0o111)
}

// tmp returns the folder shown to commands as /tmp.
func (t *Temp) tmp() string { return t.dir.Path("tmp") }

// blank and nothing stand in for hidden files and folders.
func (t *Temp) blank() string   { return t.dir.Path("blank") }
func (t *Temp) nothing() string { return t.dir.Path("nothing") }
