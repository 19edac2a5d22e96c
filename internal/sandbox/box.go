package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/gitguard"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// Types of the guard of a Box.
type (
	Opening = gitguard.Opening
	Watch   = gitguard.Watch
	Change  = gitguard.Change
)

// Config configures a session's sandbox. Roots is required.
type Config struct {
	Mode    Mode
	Network bool
	Roots   func() []string // the workspace's folders, absolute, as they are now
	Home    string          // the user's home folder; empty: the user's
	// HermesHome is the folder of our own configuration, keys and sessions,
	// which commands do not see, but for Visible.
	HermesHome string
	Visible    []string
	Read       []string // paths in the home readable for commands; may begin with ~
	Hide       []string // paths unreadable for commands, except Visible
	Caches     string   // [OwnCaches] or [SharedCaches]; empty: own
	Workspace  string   // the folder whose cache layers are used; empty: the first of Roots
	Environ    []string // the server's own; nil: the process's
	// Path returns the current PATH of commands; nil: Environ's.
	Path func() string
	// Mechanism enforces the limits; nil: the result of [Detect].
	Mechanism *Mechanism
	// Report gets a short sentence about the enforced limits, and a sentence for each gap. It is called
	// with the first command, and again after each change of the policy. Nil: no report.
	Report func(brief string, gaps []string)
	// Notice shows the user a notice about a command's changes. Nil: only the call reports it.
	Notice func(text string)
	// Ends shows the user at Close the undone changes of standing programs. Nil: the next session
	// shows them.
	Ends func(text string)
	// Alone gives each command separate namespaces. It is for tests in virtual time, where nothing
	// may wait for a process between two commands.
	Alone bool

	strict bool // commands run only if all limits are enforced; see [Planning]
}

// Box is the sandbox of a session. The nil Box confines nothing.
type Box struct {
	*shared
	opening Opening // of a single command, see With
}

type shared struct {
	cfg    Config
	caches func() []string // found once
	made   []string        // the created caches

	holders proc.Holders // keeps the namespaces of commands

	mu       sync.Mutex
	planning *Box // of plan mode; nil: not used yet
	mode     Mode
	network  bool
	temp     *Temp
	reported bool
	closed   bool
	stand    []string        // running programs, see Stand
	places   *gitguard.Guard // finds, holds and reviews places of the workspace

	layers  string    // the folder of the caches' layers; empty: not asked for yet
	held    io.Closer // keeps it
	sweeper *sweeper
	views   views
	sockets func() []string // of the system's services, found once
}

// New makes the sandbox of a session. It does nothing yet.
func New(c Config) *Box {
	if c.Home == "" {
		c.Home, _ = os.UserHomeDir()
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	s := &shared{cfg: c, mode: c.Mode, network: c.Network}
	b := &Box{shared: s}
	s.places = gitguard.New(gitguard.Config{
		Roots: func() []string { return s.cfg.Roots() }, Home: c.Home, Environ: c.Environ, HermesHome: c.HermesHome,
		Holds: b.holds, Inside: b.inside, Protect: s.holders.Protect, Notify: b.Report, Ends: c.Ends,
	})
	s.views.home, s.views.hermesHome, s.views.environ, s.views.path, s.views.read = c.Home, c.HermesHome, c.Environ, c.Path, c.Read
	s.sockets = sync.OnceValue(openSockets)
	s.caches = sync.OnceValue(func() []string {
		paths, made := writableCaches(c.Home, c.Environ)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.made = made
		return paths
	})
	return b
}

// Set changes the mode and the network for commands started from now on.
func (b *Box) Set(mode Mode, network bool) {
	b.mu.Lock()
	on := b.mode != mode && mode == WorkspaceWrite
	if b.mode != mode || b.network != network {
		b.mode, b.network, b.reported = mode, network, false
	}
	stand := slices.Clone(b.stand)
	b.mu.Unlock()
	if !on {
		return
	}
	for _, by := range stand { // they were started when nothing was reviewed
		b.places.Stand(context.Background(), by) // its only error is a cancel
	}
}

// SetHome changes which paths of the home later commands see, and whether they share the user's
// caches. See Config.
func (b *Box) SetHome(caches string, read []string) {
	b.mu.Lock()
	b.cfg.Caches = caches
	b.mu.Unlock()
	b.views.setRead(read)
	if p := planned(b); p != nil {
		p.SetHome(caches, read)
	}
}

// off reports whether there is nothing to do at all.
func (b *Box) off() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mode == Off || b.mode == ""
}

func (b *Box) wanted() Mode {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mode
}

// Holds reports whether the sandbox is kept between commands. A command without private folders
// then starts sooner. See [proc.Cmd.Held].
func (b *Box) Holds(ctx context.Context) bool {
	if b.off() || b.cfg.Alone || b.wanted().Check() != nil {
		return false
	}
	m := b.mechanism(ctx)
	return (m.Kind == Namespaces || m.Kind == Bubblewrap) && m.Processes
}

// Confine bounds a command before its start. It may write c.Scratch and the folders and files of
// writable, too, and read c.Shown. On an error it must not be started.
func (b *Box) Confine(ctx context.Context, c *proc.Cmd, writable ...string) error {
	m, temp, err := b.bounds(ctx)
	if temp == nil || err != nil {
		return err
	}
	s, err := b.places.Scene()
	if err != nil {
		return err
	}
	programs := b.views.startsAll(c)
	policy := b.basePolicy()
	b.guard(&policy, s)
	policy.temp = temp
	if err := b.keepJudged(ctx, policy.Roots); err != nil {
		return fmt.Errorf("confining the command: %w", err)
	}
	if policy.copies, err = b.frozen(temp); err != nil {
		return fmt.Errorf("confining the command: %w", err)
	}
	policy.Visible = append(policy.Visible, inTemp(programs, b.cfg, policy.Roots)...)
	policy.Writable = append(policy.Writable, writable...)
	return b.enforce(ctx, m, policy, c)
}

// bounds returns the mechanism and the temporary folder for a new command. If nothing bounds the
// command, the folder is nil.
func (b *Box) bounds(ctx context.Context) (m Mechanism, temp *Temp, err error) {
	if b == nil {
		return m, nil, nil
	}
	if err := b.rootsExist(); err != nil {
		return m, nil, err
	}
	if b.off() {
		b.report(Mechanism{Kind: None})
		return m, nil, nil
	}
	if err := b.wanted().Check(); err != nil {
		return m, nil, fmt.Errorf("%w. Nothing was run. Ask the user to correct it", err)
	}
	m = b.mechanism(ctx)
	if m.Kind == Unknown {
		return m, nil, fmt.Errorf("confining the command: %s; try again", m.Reason)
	}
	if b.cfg.strict {
		if err := m.enforcesAll(); err != nil {
			return m, nil, fmt.Errorf("%w. Nothing was run. Use tools that read", err)
		}
	}
	b.report(m)
	if m.Kind == None {
		return m, nil, nil
	}
	temp, err = b.tempFolder()
	return m, temp, err
}

// enforce bounds a command by a policy, with the session's caches.
func (b *Box) enforce(ctx context.Context, m Mechanism, policy Policy, c *proc.Cmd) error {
	if c.Scratch != "" {
		policy.Writable = append(policy.Writable, c.Scratch)
	}
	if c.Shown != "" {
		policy.Visible = append(policy.Visible, c.Shown)
	}
	b.arrangeCaches(ctx, m, &policy, c)
	if err := m.apply(policy, c, policy.temp); err != nil {
		return fmt.Errorf("confining the command: %w", err)
	}
	if !b.cfg.Alone {
		c.Holders = &b.holders
	}
	return nil
}

func (b *Box) mechanism(ctx context.Context) Mechanism {
	if b.cfg.Mechanism != nil {
		return *b.cfg.Mechanism
	}
	return Detect(ctx)
}

// report reports the enforced limits and the gaps once.
func (b *Box) report(m Mechanism) {
	b.mu.Lock()
	p := Policy{Mode: b.mode, Network: b.network}
	first := !b.reported
	b.reported = true
	b.mu.Unlock()
	if first && b.cfg.Report != nil {
		b.cfg.Report(m.Brief(p), m.Gaps(p))
	}
}

// Policy returns the policy for new commands.
func (b *Box) Policy() Policy {
	p := b.basePolicy()
	b.guard(&p, b.places.Look())
	return p
}

// basePolicy returns the policy without the held places of the workspace.
func (b *Box) basePolicy() Policy {
	b.mu.Lock()
	p := Policy{Mode: b.mode, Network: b.network, Roots: b.cfg.Roots()}
	b.mu.Unlock()
	switch {
	case p.Mode == WorkspaceWrite:
		p.Writable = gitguard.Outside(p.Roots)
	case b.cfg.strict:
		p.Visible = gitguard.Outside(p.Roots)
	}
	p.Visible = slices.Concat(p.Visible, ofRun, b.cfg.Visible)
	if !p.Network {
		p.Visible = slices.DeleteFunc(p.Visible, func(path string) bool { return path == resolver })
	}
	for _, home := range append(homesAmong(p.Roots), b.cfg.Home) {
		for _, name := range startFiles {
			p.ReadOnly = append(p.ReadOnly, filepath.Join(home, name))
		}
	}
	p.hide(b.views.now(p.Roots), b.sockets())
	p.Unreadable = append(p.Unreadable, b.cfg.Hide...)
	return p
}

func (b *Box) tempFolder() (*Temp, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("the session is closed")
	}
	if b.temp == nil {
		temp, err := newTemp()
		if err != nil {
			return nil, err
		}
		b.temp = temp
	}
	return b.temp, nil
}

// Close removes the session's temporary files, and the unused caches made for its commands.
// Commands must have ended.
func (b *Box) Close() {
	if b == nil {
		return
	}
	if p := planned(b); p != nil {
		p.Close()
	}
	b.places.Wait() // a review may still start a program to remove files
	b.holders.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.temp != nil {
		b.temp.dir.Remove()
		b.temp = nil
	}
	removeUnused(b.made)
	b.sweeper.stop()
	if b.held != nil {
		b.held.Close() // only a lock
		b.held = nil
	}
	b.places.Close()
}

// Explain returns a hint if a command's output shows that the sandbox blocked something. Otherwise
// it returns "". failed tells whether the command says that it failed.
func (b *Box) Explain(output string, failed bool) string {
	switch {
	case b.off():
		return ""
	case !failed:
		return unsignedTag(output)
	}
	if hint := missedKey(output); hint != "" && !b.cfg.strict {
		return hint
	}
	if b.cfg.strict && slices.ContainsFunc(refused, func(sign string) bool { return strings.Contains(output, sign) }) {
		return "in plan mode, commands write only in /tmp and have no network"
	}
	if b.wanted() == ReadOnly {
		if slices.ContainsFunc(refused, func(sign string) bool { return strings.Contains(output, sign) }) {
			return "the sandbox (sandbox.mode: read-only) lets commands write only in /tmp"
		}
		return ""
	}
	view := b.views.now(b.cfg.Roots())
	switch {
	case len(view.entries) > 0 && slices.ContainsFunc(append(refused, "Permission denied"), func(sign string) bool { return strings.Contains(output, sign) }):
		return "the workspace is the user's home: commands change what is in its folders, but make nothing in the home itself, and do not change what begins with a dot, since shells and editors run some of it by its name; make it in a folder of the home, or use a file tool"
	case gitRefused(output):
		return "the sandbox keeps git's settings, hooks and worktrees from commands that run code of their own: run the git command alone, as a command of its own, so that it can be judged and shown"
	case slices.ContainsFunc(refused, func(sign string) bool { return strings.Contains(output, sign) }):
		return "the sandbox lets commands write only in the workspace, /tmp and tool caches, and not in git's hooks and settings or places that run by themselves, such as .vscode or .envrc. Change such a file with a file tool: the user is asked then. If a git command failed, files may have changed: tell the user to run it"
	case view.missed(output) != "":
		return "of the user's home, commands see the workspace, tools, caches and settings, and not " + view.missed(output) + ": if it is needed, the user can add it, or a folder around it, to sandbox.read"
	case strings.Contains(output, "Device or resource busy"):
		return "the sandbox keeps folders that hold a repository, or what runs by itself, from being moved or removed by commands that run code of their own: run the command alone, with the folder's name in it, or tell the user"
	}
	return ""
}

// refused lists the error texts of programs for a read-only path.
var refused = []string{"Read-only file system", "EROFS"}

// gitRefused reports whether git could not write a protected place.
func gitRefused(output string) bool {
	for line := range strings.Lines(output) {
		busy := strings.Contains(line, "Device or resource busy") || strings.Contains(line, "Read-only file system")
		if busy && (strings.Contains(line, "config") && strings.Contains(line, ".git") || strings.Contains(line, ".git/worktrees") || strings.Contains(line, ".git/modules") || strings.Contains(line, ".git/hooks") ||
			strings.Contains(line, "config file")) {
			return true
		}
	}
	return false
}

// rootsExist returns an error if the first workspace folder was renamed or removed while the
// session was open.
func (b *Box) rootsExist() error {
	if b.cfg.Roots == nil {
		return nil
	}
	roots := b.cfg.Roots()
	if len(roots) == 0 {
		return nil
	}
	if _, err := os.Stat(roots[0]); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("the workspace folder %s does not exist: it was renamed or removed after the session was opened. Nothing was run. Ask the user to open the folder under its new name; hermes-ls sessions move %s NEW moves its sessions there", roots[0], folderpath.Shell(roots[0]))
}
