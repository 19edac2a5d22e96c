package sandbox

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/gitguard"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// ownShared is how many megabytes of shared memory a program of the server's own may use.
const ownShared = 64

// Own lists the paths of a server's own program, besides the readable paths of commands.
type Own struct{ Reads, Writes []string }

// ConfineOwn bounds a program started by the server itself, such as rg for a search, since commands
// may have changed the files. The program reads the same paths as commands, and o.Reads. It writes
// only c.Scratch and o.Writes, and has no network. If the sandbox is off or none works here,
// ConfineOwn changes nothing. If it returns an error, the program must not be started.
//
// Calls with the zero Own have one policy for the whole session. They share its namespaces and
// mounts, so each later program starts in a few milliseconds.
func (b *Box) ConfineOwn(ctx context.Context, c *proc.Cmd, o Own) error {
	if b.off() || b.wanted().Check() != nil {
		return nil
	}
	m := b.mechanism(ctx)
	if m.Kind == Unknown {
		return fmt.Errorf("confining %s: %s", c.Args[0], m.Reason)
	}
	if m.Kind == None {
		return nil
	}
	stand, err := b.tempFolder()
	if err != nil {
		return err
	}
	if len(c.Args) > 0 {
		b.views.starts(c.Args[0])
	}
	policy := b.basePolicy() // nothing of the workspace is writable, so nothing in it is held
	policy.Mode, policy.Network, policy.Pinned = ReadOnly, false, nil
	policy.Writable = slices.Clone(o.Writes)
	policy.Visible = slices.Concat(policy.Visible, gitguard.Outside(policy.Roots), o.Reads)
	if c.Scratch != "" {
		policy.Writable = append(policy.Writable, c.Scratch)
	}
	policy.Visible = append(policy.Visible, policy.view.entries...)
	policy.showCaches()
	memory := c.Limits.MemoryMB
	c.Limits.MemoryMB = ownShared // the same for all, so their policies are equal
	err = m.apply(policy, c, stand)
	c.Limits.MemoryMB = memory
	if err != nil {
		return fmt.Errorf("confining %s: %w", c.Args[0], err)
	}
	if len(o.Writes) == 0 {
		if !b.cfg.Alone {
			c.Holders, c.Together = &b.holders, true
		}
	}
	return nil
}

// Enforced reports whether something bounds commands now.
func (b *Box) Enforced(ctx context.Context) bool {
	return !b.off() && b.mechanism(ctx).Kind != None
}

// Hidden returns a function that reports whether a path is hidden from commands. The server copies
// no hidden file to a folder readable for commands. If the sandbox is off, nothing is hidden.
func (b *Box) Hidden() func(path string) bool {
	if b.off() {
		return func(string) bool { return false }
	}
	return b.hiddenBy(b.Policy())
}

func (b *Box) hiddenBy(p Policy) func(path string) bool {
	p.showCaches()
	hidden := fspath.Existing(append(p.Unreadable, p.view.home))
	shown := fspath.Existing(slices.Concat(p.Roots, p.Visible, p.Writable))
	return func(path string) bool {
		return longest(path, hidden) > longest(path, shown)
	}
}

// Private reports whether a path of the workspace is hidden from commands: the workspace contains
// the user's home, and the path lies in a dot folder of the home or another hidden place. Resolve
// links before.
func (b *Box) Private(path string) bool {
	if b == nil || b.off() || !slices.ContainsFunc(b.cfg.Roots(), func(root string) bool { return fspath.Under(fspath.Real(b.cfg.Home), fspath.Real(root)) }) {
		return false
	}
	path, home := fspath.Real(path), fspath.Real(b.cfg.Home)
	if path == home || filepath.Dir(path) == home && !strings.HasPrefix(filepath.Base(path), ".") {
		return false // the user has opened just this folder
	}
	return b.hiddenBy(b.basePolicy())(path)
}

// longest returns the length of the longest of dirs around a path, or 0 if there is none.
func longest(path string, dirs []string) (most int) {
	for _, dir := range dirs {
		if fspath.Under(path, dir) {
			most = max(most, len(dir))
		}
	}
	return most
}
