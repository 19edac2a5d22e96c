package sandbox

import (
	"context"
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
// lies in Hermes' home, unless commands can write there or its path is too long.
func (p Private) Make(ctx context.Context) (*scratch.Dir, error) {
	b, kind := p.Box, p.Kind
	if b.off() || b.cfg.HermesHome == "" {
		return scratch.Make(kind)
	}
	if m := b.mechanism(ctx); m.Kind != Landlock && m.Kind != Seatbelt {
		return scratch.Make(kind)
	}
	dir := filepath.Join(fspath.Real(b.cfg.HermesHome), "run")
	if len(dir) > longestRun || fspath.UnderAny(dir, fspath.Existing(b.Changeable())) {
		return scratch.Make(kind)
	}
	return scratch.MakeIn(dir, kind)
}
