//go:build unix

package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// EditorChild is a child started by another program, such as an editor in its terminal. It is ours
// all the same: it has the environment and folder of its [Cmd]. Stop, Close, or our death ends it
// with all descendants.
type EditorChild struct {
	Args    []string // the command for the other program: this binary, under its own path
	dir     *scratch.Dir
	control *os.File
	told    chan struct{} // closed when the spec has been written
}

// ForEditorTerminal prepares a child for another program to start. It uses the starter's stdin,
// stdout and stderr. Its exit code is the child's, or 128+signal, 127 if the program is missing,
// 126 if it may not run. The writers and the reader of c are not used. The caller must call Close
// in the end.
//
// The spec is sent over a pipe in dir. No command may read or write there: it could start any
// program without a sandbox. If c itself may write dir, ForEditorTerminal returns an error. If dir
// is empty, the pipe lies in the folder for temporary files.
func ForEditorTerminal(c Cmd, dir string) (*EditorChild, error) {
	c.Together = false // the editor's terminal is not ours to give away
	if dir == "" {
		dir = os.TempDir()
	}
	if plan := c.Confine; plan != nil && plan.Landlock && slices.ContainsFunc(plan.Writes, func(w string) bool { return isIn(dir, w) }) {
		return nil, fmt.Errorf("commands can write %s, where an editor's terminal would get its command from", dir)
	}
	encoded, err := c.spec()
	if err != nil {
		return nil, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding our own binary: %w", err)
	}
	g := &EditorChild{told: make(chan struct{})}
	if g.dir, err = scratch.MakeIn(dir, "guest"); err != nil {
		return nil, fmt.Errorf("making a folder for the control pipe: %w", err)
	}
	path := g.dir.Path("control")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		g.dir.Remove()
		return nil, fmt.Errorf("making the control pipe: %w", err)
	}
	// Read and write, so opening it does not wait for the other side.
	if g.control, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		g.dir.Remove()
		return nil, fmt.Errorf("opening the control pipe: %w", err)
	}
	g.Args = []string{binary, spec.HostShell, path}
	go func() { // more than a pipe holds waits for its reader, or for Close
		defer close(g.told)
		g.control.Write(encoded) // closed before anyone came
	}()
	return g, nil
}

// isIn reports whether a path lies in a folder, or is it.
func isIn(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Stop begins to end the child and its descendants, like [Process.Stop].
func (g *EditorChild) Stop(grace time.Duration) {
	select {
	case <-g.told:
		spec.WriteStop(g.control, grace) // gone already is as good
	default:
		g.control.Close() // not started yet: it never will be
	}
}

// Close ends the child if it still runs, without waiting for it.
func (g *EditorChild) Close() {
	g.control.Close() // only the end of the pipe matters
	g.dir.Remove()
	<-g.told
}
