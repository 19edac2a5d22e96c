package sandbox

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// longestRun is the longest folder in which the path of a script's socket has room.
const longestRun = 64

// Private is a folder for files of one command, such as a script. No other command reaches it, also
// none of another session.
type Private struct {
	Box  *Box   // of the command; nil: none
	Kind string // a part of its name
}

// Make makes the folder. Where commands share the folder for temporary files (Landlock, macOS), it
// lies in Hermes' home, or in the user's folder for running programs (XDG_RUNTIME_DIR), which is hidden
// from commands, too. If commands can write in both, or their paths are too long, it is a temporary folder.
func (p Private) Make(ctx context.Context) (*scratch.Dir, error) {
	b, kind := p.Box, p.Kind
	if b.off() || b.cfg.HermesHome == "" {
		return scratch.Make(kind)
	}
	if m := b.mechanism(ctx); m.Kind != Landlock && m.Kind != Seatbelt {
		return scratch.Make(kind)
	}
	changeable := fspath.Existing(b.Changeable())
	for _, dir := range []string{filepath.Join(fspath.Real(b.cfg.HermesHome), "run"), ownRuntime(b.cfg.Environ)} {
		if dir != "" && len(dir) <= longestRun && !fspath.UnderAny(dir, changeable) {
			return scratch.MakeIn(dir, kind)
		}
	}
	return scratch.Make(kind)
}

// ownRuntime returns our folder in XDG_RUNTIME_DIR. If others may enter it, or there is none, it
// returns "".
func ownRuntime(environ []string) string {
	dir := fspath.Real(variable(environ, "XDG_RUNTIME_DIR", ""))
	info, err := os.Stat(dir)
	if err != nil || !filepath.IsAbs(dir) || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return ""
	}
	return filepath.Join(dir, "hermes-ls")
}
