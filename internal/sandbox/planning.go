package sandbox

import (
	"errors"
	"fmt"
)

// Planning returns the sandbox of the session's commands in plan mode. They read the same paths as
// the commands of b, write only to a private /tmp, and have no network. The mode of b does not
// matter, not even off. If a limit is not enforced here, [Box.Confine] returns an error. The nil
// Box returns nil.
func Planning(b *Box) *Box {
	if b == nil || b.cfg.strict {
		return b
	}
	read := b.views.readable()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.planning == nil {
		c := b.cfg
		c.Mode, c.Network, c.Workspace, c.Read = ReadOnly, false, b.workspaceLocked(), read
		c.strict, c.Report = true, nil
		b.planning = New(c)
		b.planning.closed = b.closed
	}
	return b.planning
}

// Strict reports whether b is the sandbox of plan mode.
func Strict(b *Box) bool { return b != nil && b.cfg.strict }

// planned returns the sandbox of plan mode, if it is in use. Else it returns nil.
func planned(b *Box) *Box {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.planning
}

// errLoose is the error of a command whose limits would not be enforced.
var errLoose = errors.New("plan mode runs no commands on this host")

// enforcesAll returns an error if the mechanism does not enforce all limits of plan mode.
// Landlock and Seatbelt do not: commands reach services of the system and share /tmp, and with
// Landlock they change modes and times of files.
func (m Mechanism) enforcesAll() error {
	switch {
	case m.Kind == None:
		return fmt.Errorf("%w, because no sandbox works here: %s", errLoose, m.Reason)
	case m.Kind == Landlock || m.Kind == Seatbelt:
		return fmt.Errorf("%w, because the sandbox here (%s) does not keep them from all changes", errLoose, m.Kind)
	case !m.NoNetwork:
		return fmt.Errorf("%w, because nothing here keeps them from the network", errLoose)
	}
	return nil
}
