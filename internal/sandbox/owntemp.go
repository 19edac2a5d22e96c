package sandbox

import (
	"context"
	"os"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// tempFolders are the folders for temporary files that a session can have as its own.
func tempFolders() []string { return []string{"/tmp", "/var/tmp", os.TempDir()} }

// OwnTemp returns the folders for temporary files that commands see as the session's
// own, by every name that they have. It returns none if they are shared with other
// programs of the host, as without a sandbox, with Landlock, and on macOS.
func (b *Box) OwnTemp(ctx context.Context) []string {
	if b.off() {
		return nil
	}
	if m := b.mechanism(ctx); m.Kind != Namespaces && m.Kind != Bubblewrap {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(append(tempFolders(), fspath.Existing(tempFolders())...))))
}

// TempFolder returns the folder of the host that commands see as the folders of [Box.OwnTemp].
// It returns "" if no command has run yet.
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

// Changeable returns the folders that the session's commands may write: those of the
// workspace, for temporary files, and the tools' caches.
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
