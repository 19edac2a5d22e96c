// Package sandbox bounds commands and scripts: which files they write, which of the user's
// secrets they read, and whether they use the network.
//
// A [Policy] holds the limits of a command. A [Mechanism] enforces as much of a policy as this host
// allows, which [Detect] finds by trying. A [Box] is the sandbox of one session, with a private
// /tmp. If no mechanism works, the session reports it with the text of [Mechanism.Enforces] and
// [Mechanism.Gaps].
//
//	box := sandbox.New(sandbox.Config{Mode: sandbox.WorkspaceWrite, Roots: folders, …})
//	defer box.Close()
//	if err := box.Confine(ctx, &cmd); err != nil { … } // and do not start it
//
// Mounts hold places whose programs run automatically, such as git's hooks. A [Watch] finds new
// ones left by a command, for the user to review. A Box is safe for concurrent use.
package sandbox

import (
	"fmt"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// Mode says which folders commands may write.
type Mode string

// Check returns an error if the mode is not known. No command may run in such a mode.
func (m Mode) Check() error {
	switch m {
	case Off, "", WorkspaceWrite, ReadOnly:
		return nil
	}
	return fmt.Errorf("sandbox.mode is %q, which is not known; known are %s, %s and %s", m, Off, WorkspaceWrite, ReadOnly)
}

const (
	Off            Mode = "off"             // whatever the user may
	WorkspaceWrite Mode = "workspace-write" // the workspace, temporary files, tool caches
	ReadOnly       Mode = "read-only"       // temporary files alone
)

// Policy holds the limits of a command. Paths are absolute. When a command starts, missing paths
// are ignored and symbolic links are followed.
type Policy struct {
	Mode       Mode
	Roots      []string // the workspace's folders
	Writable   []string // further: tool caches, folders of a repository outside of Roots
	Unreadable []string // secrets
	Visible    []string // readable, although in an unreadable folder
	ReadOnly   []string // not writable, although in a writable folder
	Pinned     []string // not to be moved away, although in a writable folder
	Network    bool

	exact  []string       // further writable folders, in which no link is followed
	links  []string       // links protected from replacement
	temp   *Temp          // stands in for /tmp; nil: /tmp is nothing special
	copies []confine.Copy // replaced content of files

	view     *homeView      // of the user's home; nil: homes are not hidden
	layerDir string         // where layers are kept
	layers   []confine.Copy // caches with a layer of ours
	binds    []confine.Copy // caches replaced by a folder of ours

	real fspath.Resolver // of all its paths; nil: nothing was resolved
}

// resolver follows the links of the policy's paths. A policy is for a single command, so each path
// is read only once.
func (p *Policy) resolver() fspath.Resolver {
	if p.real == nil {
		p.real = fspath.Resolver{}
	}
	return p.real
}

// Mechanism enforces policies on this host.
type Mechanism struct {
	Kind      Kind
	Processes bool   // other processes are out of sight, too
	NoNetwork bool   // the network can be taken away
	Scoped    bool   // abstract sockets of other programs are out of reach
	Program   string // for Bubblewrap: its path
	Reason    string // for None: why
}

// Kind of mechanism, the strongest first.
type Kind string

const (
	Namespaces Kind = "namespaces" // Linux user and mount namespaces, made by ourselves
	Bubblewrap Kind = "bubblewrap" // the same, made by a program with the right to do so
	Landlock   Kind = "landlock"   // Linux's rules for files
	Seatbelt   Kind = "seatbelt"   // macOS's sandbox-exec
	None       Kind = "none"
	Unknown    Kind = "unknown" // it was not found out in time; nothing is started then
)

// Enforces describes in a sentence how far and by which means a mode is enforced.
func (m Mechanism) Enforces(mode Mode) string {
	writes := "the workspace, the session's own /tmp and tool caches"
	if m.Kind == Landlock || m.Kind == Seatbelt {
		writes = "the workspace, temporary files and tool caches"
	}
	if mode == ReadOnly {
		writes = "temporary files"
	}
	switch m.Kind {
	case Namespaces, Bubblewrap:
		by := "mount namespaces"
		if m.Processes {
			by = "mount and process namespaces"
		}
		if m.Kind == Bubblewrap {
			by += " made by " + m.Program
		}
		return "enforced by " + by + ": writes only in " + writes + "; your home but for tools, caches and settings, and sockets of other programs out of reach"
	case Landlock:
		return "enforced by Landlock: writes only in " + writes + "; your home but for tools, caches and settings unreadable"
	case Seatbelt:
		return "enforced by sandbox-exec: writes only in " + writes + "; your home but for tools, caches and settings unreadable"
	}
	return "not enforced: " + m.Reason
}

// Brief returns a sentence of at most ten words about the limits of a policy.
func (m Mechanism) Brief(p Policy) string {
	switch {
	case p.Mode == Off || p.Mode == "" || m.Kind == None:
		return "off. Commands run with your own rights"
	case p.Mode == ReadOnly:
		return "commands write only in their own /tmp and caches"
	}
	return "commands write only in the workspace, /tmp and caches"
}

// Says returns a sentence about a policy: its mode, how far it is enforced, and by which means.
func (m Mechanism) Says(p Policy) string {
	if p.Mode == Off || p.Mode == "" {
		return "switched off (sandbox.mode): commands run with your own rights, watched by approvals"
	}
	if m.Kind == None {
		return string(p.Mode)
	}
	text := fmt.Sprintf("%s, %s", p.Mode, m.Enforces(p.Mode))
	if !p.Network && m.NoNetwork {
		text += "; no network"
	}
	return text
}

// Gaps returns a sentence for each unenforced part of a policy.
func (m Mechanism) Gaps(p Policy) (gaps []string) {
	if p.Mode == Off {
		if !p.Network {
			gaps = append(gaps, "sandbox.network is off, but so is the sandbox that would enforce it: commands can use the network")
		}
		return gaps
	}
	switch m.Kind {
	case None:
		return []string{"commands run with your own rights, because no sandbox works on this host. " + m.Reason + ". Approvals and the path scope of the file tools still apply"}
	case Landlock:
		gaps = append(gaps, "git's settings and hooks, .vscode and other places in the workspace that run by themselves can be written by commands, and are only reviewed when they end; the names, though not the content, of files in your home can be listed; modes, times and other attributes of files everywhere, though not their content, can be changed as far as you may; /tmp is shared; Unix sockets of the system, the desktop and your programs, their shared memory and the priority of their processes can be reached; programs that open terminals, such as tmux and script, fail; tool caches start empty")
	case Seatbelt:
		gaps = append(gaps, "/tmp is shared; names of files in your home can be found; links to git's settings and hooks are only reviewed when a command ends; tool caches start empty")
	case Namespaces, Bubblewrap:
		if !m.Processes {
			gaps = append(gaps, "commands see your other processes")
		}
		if m.Kind == Bubblewrap {
			gaps = append(gaps, "links to git's settings and hooks are only reviewed when a command ends, places that are found while commands run are protected from the next command on, and tool caches start empty")
		}
		if !m.Scoped && p.Network {
			gaps = append(gaps, "abstract Unix sockets, such as X11's, can be reached, because the kernel is older than 6.12")
		}
	}
	if !p.Network && !m.NoNetwork {
		gaps = append(gaps, "sandbox.network is off, but this host cannot enforce that: commands can use the network")
	}
	return gaps
}

// In returns a new sandbox with the present settings of b for commands in other folders, such as a
// subagent's worktree. The caller closes it.
func (b *Box) In(roots ...string) *Box {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	c := b.cfg
	c.Mode, c.Network, c.Workspace = b.mode, b.network, b.workspaceLocked()
	b.mu.Unlock()
	c.Read = b.views.readable()
	c.Roots = func() []string { return roots }
	c.Report = nil // b has reported
	return New(c)
}
