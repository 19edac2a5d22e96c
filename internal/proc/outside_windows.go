package proc

import (
	"errors"
	"time"
)

// Guest is a child that another program starts; not on Windows.
type Guest struct{ Args []string }

// Outside is not there on Windows: commands run without the editor's terminals.
func Outside(Cmd, string) (*Guest, error) {
	return nil, errors.New("commands in an editor's terminal are not supported on Windows")
}

// Stop does nothing.
func (g *Guest) Stop(time.Duration) {}

// Close does nothing.
func (g *Guest) Close() {}
