package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// tempFolders returns the folders for temporary files that a session can replace.
func tempFolders() []string { return []string{"/tmp", "/var/tmp", os.TempDir()} }

// inTemp returns the folders needed by programs in folders for temporary files, which commands do
// not see: a program's own, its link target's, and its packages'. If such a folder contains a home or
// a root, inTemp returns only the program.
func inTemp(programs []string, c Config, roots []string) (shown []string) {
	temps := slices.Concat(tempFolders(), fspath.Existing(tempFolders()))
	for _, program := range programs {
		shown = append(shown, oneInTemp(program, temps, c, roots)...)
	}
	return shown
}

func oneInTemp(program string, temps []string, c Config, roots []string) (shown []string) {
	if !filepath.IsAbs(program) || !fspath.UnderAny(program, temps) {
		return nil
	}
	private := slices.Concat(roots, []string{c.Home, c.HermesHome}, temps)
	for _, path := range []string{program, fspath.Real(program)} {
		dir := filepath.Dir(path)
		if before, _, packaged := strings.Cut(path, "/node_modules/"); packaged {
			dir = filepath.Join(before, "node_modules")
		} else if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "pyvenv.cfg")); err == nil {
			dir = filepath.Dir(dir)
		}
		if slices.ContainsFunc(private, func(p string) bool { return p != "" && fspath.Under(p, dir) }) {
			dir = path
		}
		if fspath.UnderAny(dir, temps) && !fspath.Under(dir, c.Home) { // starts shows programs in the home
			shown = append(shown, dir)
		}
	}
	return shown
}

// OwnTemp returns the session's folders for temporary files, by every name under which commands see
// them. It returns none if commands share the host's: without a sandbox, with Landlock, and on
// macOS.
func (b *Box) OwnTemp(ctx context.Context) []string {
	if b.off() {
		return nil
	}
	if m := b.mechanism(ctx); m.Kind != Namespaces && m.Kind != Bubblewrap {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(append(tempFolders(), fspath.Existing(tempFolders())...))))
}

// TempFolder returns the host's folder behind the folders of [Box.OwnTemp]. It returns "" if no
// command has run yet.
func (b *Box) TempFolder() string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.temp == nil {
		return ""
	}
	return b.temp.tmp()
}

// ReadOnly reports whether the session is not to write into the workspace.
func (b *Box) ReadOnly() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mode == ReadOnly
}

// Changeable returns the folders writable for the session's commands: the workspace folders, the
// folders for temporary files, and the tools' caches.
func (b *Box) Changeable() []string {
	if b == nil {
		return nil
	}
	p := b.basePolicy()
	all := slices.Concat(p.Roots, p.Writable, tempFolders())
	for _, f := range p.view.caches {
		all = append(all, f.named, f.path)
	}
	return all
}
