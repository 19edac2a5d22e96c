package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// apply bounds a command by a policy, as far as the mechanism can.
func (m Mechanism) apply(p Policy, c *proc.Cmd, stand *Temp) error {
	plan := &confine.Plan{Scoped: m.Scoped}
	switch m.Kind {
	case Namespaces, Bubblewrap:
		if err := m.mounts(plan, p, stand, c.Limits.MemoryMB); err != nil {
			return err
		}
		if m.Kind == Bubblewrap {
			plan = m.wrapped(plan, p)
		}
	case Landlock:
		plan.Landlock = true
		plan.Reads, plan.Writes = rules(p)
		plan.Writes = append(plan.Writes, p.exact...)
	default:
		return nil
	}
	plan.Sockets = confine.InternetSocket
	if !p.Network && m.NoNetwork {
		plan.Network = m.Kind != Landlock
		if m.Kind == Landlock {
			plan.Sockets = confine.LocalSocket
		}
	}
	c.Confine = plan
	return nil
}

func (p Policy) writable(real fspath.Resolver) []string {
	if p.Mode == ReadOnly {
		return real.Existing(p.Writable)
	}
	return real.Existing(append(slices.Clone(p.Roots), p.Writable...))
}

func (m Mechanism) mounts(plan *confine.Plan, p Policy, stand *Temp, shmMB int) error {
	real := p.resolver()
	plan.Namespaces, plan.Processes, plan.ShmMB = true, m.Processes, shmMB
	plan.Writable = p.writable(real)
	plan.Hidden = real.Existing(p.Unreadable)
	plan.Visible = real.Existing(p.Visible)
	plan.ReadOnly = within(real.Existing(p.ReadOnly), plan.Writable)
	plan.Pinned = within(real.Existing(p.Pinned), plan.Writable)
	plan.Copies, plan.Links = p.copies, within(slices.Clone(p.links), plan.Writable)
	plan.Writable = append(plan.Writable, p.exact...)
	plan.Blank, plan.Nothing = stand.blank(), stand.nothing()
	if p.temp != nil {
		plan.Temp, plan.TempAt = p.temp.tmp(), real.Existing(tempFolders())
	}
	if p.Mode == ReadOnly { // they may lie in a hidden folder or in /tmp
		plan.Visible = append(plan.Visible, slices.DeleteFunc(real.Existing(p.Roots), func(root string) bool { return slices.Contains(p.exact, root) })...)
	}
	plan.LayerDir, plan.Layers, plan.Binds = p.layerDir, p.layers, p.binds
	return p.standIn(plan, stand)
}

// standIn mounts a folder of ours over the home.
func (p Policy) standIn(plan *confine.Plan, stand *Temp) error {
	if p.view == nil || p.view.home == "" {
		return nil
	}
	mounted := slices.Concat(plan.Writable, plan.Visible)
	for _, c := range slices.Concat(plan.Layers, plan.Binds) {
		mounted = append(mounted, c.At)
	}
	mounted = slices.DeleteFunc(mounted, func(path string) bool { return !fspath.Under(path, p.view.home) })
	dir, covers, err := stand.standIn(p.view, mounted)
	if err != nil {
		return err
	}
	plan.Folders = []confine.Copy{{From: dir, At: p.view.home}}
	for _, c := range covers {
		if fspath.UnderAny(c.At, mounted) {
			plan.Folders = append(plan.Folders, c)
		}
	}
	return nil
}

// within returns the paths that are or lie in one of dirs.
func within(paths, dirs []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return !fspath.UnderAny(path, dirs) })
}

// wrapped is a plan whose mounts bubblewrap makes.
func (m Mechanism) wrapped(mounts *confine.Plan, p Policy) *confine.Plan {
	args := []string{
		m.Program, "--unshare-pid", "--unshare-ipc", "--as-pid-1", "--die-with-parent", "--ro-bind", "/", "/",
	}
	if os.Geteuid() == 0 { // without the capability to do it otherwise: see proc
		args = append(args, "--unshare-user")
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	type mount struct {
		path string
		rank int
		args []string
	}
	var all []mount
	add := func(rank int, paths []string, args func(path string) []string) {
		for _, path := range paths {
			all = append(all, mount{path, rank, args(path)})
		}
	}
	on := func(flag string) func(string) []string {
		return func(path string) []string { return []string{flag, path, path} }
	}
	for _, c := range mounts.Folders {
		all = append(all, mount{c.At, 1, []string{"--bind", c.From, c.At}})
	}
	for _, c := range mounts.Binds {
		all = append(all, mount{c.At, 2, []string{"--bind", c.From, c.At}})
	}
	add(0, mounts.TempAt, func(path string) []string { return []string{"--bind", mounts.Temp, path} })
	add(1, mounts.Hidden, func(path string) []string {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return []string{"--tmpfs", path}
		}
		return []string{"--ro-bind", mounts.Blank, path}
	})
	add(2, mounts.Writable, on("--bind-try"))
	add(3, mounts.Visible, on("--ro-bind-try"))
	add(4, mounts.Pinned, on("--bind-try"))
	add(5, mounts.ReadOnly, on("--ro-bind-try"))
	for _, c := range mounts.Copies {
		all = append(all, mount{c.At, 6, []string{"--ro-bind", c.From, c.At}})
	}
	slices.SortStableFunc(all, func(a, b mount) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.rank, b.rank))
	})
	for _, one := range all {
		args = append(args, one.args...)
	}
	for _, c := range mounts.Folders { // when their entries are mounted
		args = append(args, "--remount-ro", c.At)
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev")
	if os.Geteuid() == 0 {
		for _, name := range []string{"sys", "sysrq-trigger", "irq", "bus", "fs"} {
			if _, err := os.Stat("/proc/" + name); err == nil {
				args = append(args, "--ro-bind", "/proc/"+name, "/proc/"+name)
			}
		}
	}
	return &confine.Plan{Prefix: append(args, "--"), Processes: true, Scoped: mounts.Scoped}
}

// rules are the rules for Landlock. Rules only allow, and a rule for a folder allows all below it.
// So a folder with a secret is not allowed, but the entries beside the secret are.
func rules(p Policy) (reads, writes []string) {
	real := fspath.Resolver{}
	writes = p.writable(real)
	if p.temp != nil {
		writes = append(writes, real.Existing([]string{"/tmp", "/var/tmp", "/dev/shm", os.TempDir()})...)
	}
	visible := real.Existing(p.Visible)
	unreadable := slices.Clone(p.Unreadable)
	if p.view != nil && p.view.home != "" {
		unreadable = append(append(unreadable, p.view.home), p.view.dirty()...)
		visible = append(visible, real.Existing(p.view.clean())...)
	}
	hidden := slices.DeleteFunc(real.Existing(unreadable), func(path string) bool {
		return slices.Contains(sockets, path) // not kept by this means
	})
	reads = slices.DeleteFunc(beside("/", append(hidden, "/dev")), func(path string) bool { return fspath.Under(path, "/dev") }) // devices have separate rules
	for _, v := range visible {
		below := within(slices.Clone(hidden), []string{v})
		if p.view != nil && v == p.view.home { // all of it is wanted, such as by a login shell
			below = slices.DeleteFunc(below, func(h string) bool { return h == v })
		}
		reads = append(reads, beside(v, below)...)
	}
	// A listening socket in the workspace does not reduce the rights to its folder: no rule can
	// keep commands from it.
	kept := slices.DeleteFunc(hidden, isSocket)
	var split []string
	for _, w := range writes {
		split = append(split, beside(w, kept)...)
	}
	if p.Mode == ReadOnly {
		reads = append(reads, real.Existing(p.Roots)...)
	}
	return reads, split
}

func isSocket(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// beside returns dir if nothing in it is hidden, otherwise its visible entries.
func beside(dir string, hidden []string) (allowed []string) {
	if slices.Contains(hidden, dir) {
		return nil
	}
	if !slices.ContainsFunc(hidden, func(h string) bool { return fspath.Under(h, dir) }) {
		return []string{dir}
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			allowed = append(allowed, beside(filepath.Join(dir, e.Name()), hidden)...)
		}
	}
	return allowed
}
