package proc

import (
	"errors"
	"time"
)

// EditorChild is a child started by another program; not on Windows.
type EditorChild struct{ Args []string }

// ForEditorTerminal is not there on Windows: commands run without the editor's terminals.
func ForEditorTerminal(Cmd, string) (*EditorChild, error) {
	return nil, errors.New("commands in an editor's terminal are not supported on Windows")
}

// Stop does nothing.
func (g *EditorChild) Stop(time.Duration) {}

// Close does nothing.
func (g *EditorChild) Close() {}
