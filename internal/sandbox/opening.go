package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/protected"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/gitguard"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// With returns the same sandbox for one command with an opening. In plan mode, nothing is opened
// for writing. The nil Box returns nil.
func (b *Box) With(o Opening) *Box {
	if b == nil {
		return nil
	}
	if b.cfg.strict {
		o = Opening{Frozen: o.Frozen}
	}
	return &Box{shared: b.shared, opening: o}
}

// frozen writes the judged content of files into the session's temporary folder, and
// returns the copies to mount over them.
func (b *Box) frozen(temp *Temp) (copies []confine.Copy, err error) {
	for _, path := range slices.Sorted(maps.Keys(b.opening.Frozen)) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, fmt.Errorf("the file %s, which was judged, cannot be found: %w", path, err)
		}
		info, err := os.Stat(real)
		if err != nil {
			return nil, fmt.Errorf("the file %s, which was judged, cannot be found: %w", path, err)
		}
		mode := os.FileMode(0o444)
		if info.Mode()&0o111 != 0 {
			mode = 0o555
		}
		from, err := temp.freeze(b.opening.Frozen[path], mode)
		if err != nil {
			return nil, fmt.Errorf("keeping the judged content of %s: %w", path, err)
		}
		copies = append(copies, confine.Copy{From: from, At: real})
	}
	return copies, nil
}

// keepJudged makes the judged files read-only for running commands, and pins their folders and the
// links to them. Otherwise a command could move a file away and put another in its place: a mount
// stays with the moved file.
func (b *Box) keepJudged(ctx context.Context, roots []string) error {
	var files, pinned []string
	for path := range b.opening.Frozen {
		real, links, ok := fspath.Follow(path)
		if !ok {
			continue
		}
		files = append(files, real)
		for _, link := range links {
			if dirs := fspath.Parents(link, roots); dirs != nil || fspath.UnderAny(link, roots) {
				pinned = append(append(pinned, link), dirs...)
			}
		}
		pinned = append(pinned, fspath.Parents(real, roots)...)
	}
	if len(files) == 0 {
		return nil
	}
	slices.Sort(pinned)
	return b.holders.Protect(ctx, files, slices.Compact(pinned))
}

// freeze keeps a content under its hash, and returns where.
func (t *Temp) freeze(content []byte, mode os.FileMode) (path string, err error) {
	dir := t.dir.Path("frozen")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	path = filepath.Join(dir, fmt.Sprintf("%s-%o", hex.EncodeToString(sum[:]), mode))
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	if err := safefile.Replace(path, content, mode); err != nil { // two commands may freeze the same content at once
		return "", err
	}
	return path, nil
}

// Watch scans the workspace's protected places before a command is confined. If the sandbox is off,
// or if commands write nothing in plan mode, it returns nil, which watches nothing. If ctx ends
// first, it returns an error, and the command must not start.
func (b *Box) Watch(ctx context.Context) (*Watch, error) {
	if b.off() || b.cfg.strict {
		return nil, nil
	}
	return b.places.Watch(ctx, b.opening)
}

// Stand watches these places for a standing program: it keeps running between its calls and can
// write in the workspace. Call Stand before its start. by names the program for the user. If the
// sandbox is off, or if the program can write nothing, Stand returns nil, which watches nothing. If
// the sandbox is turned on later, the program is watched from then on. If ctx ends first, Stand
// returns an error, and the program must not start.
func (b *Box) Stand(ctx context.Context, by string) (*Watch, error) {
	if b == nil || b.cfg.strict {
		return nil, nil
	}
	b.mu.Lock()
	if !slices.Contains(b.stand, by) {
		b.stand = append(b.stand, by)
	}
	b.mu.Unlock()
	if b.off() || b.wanted() != WorkspaceWrite {
		return nil, nil
	}
	return b.places.Stand(ctx, by)
}

// Standing names the programs watched by [Box.Stand].
func (b *Box) Standing() []string {
	if b == nil {
		return nil
	}
	return b.places.Standing()
}

// Wrote is a change made by the user in the editor, or approved by the user.
type Wrote = gitguard.Wrote

// Note records a known write in the workspace: no review asks about it. The nil Box does nothing.
func (b *Box) Note(w Wrote) {
	if b != nil {
		b.places.Note(w)
	}
}

// Importer returns the file of instructions that imports an absolute path; see [gitguard.Guard.Importer]. The
// nil Box knows the instructions in roots and in the directories around the path.
func (b *Box) Importer(path string, roots []string) string {
	if b == nil {
		return protected.Importer(path, protected.Around(path, roots), protected.ReadImports)
	}
	return b.places.Importer(path, roots)
}
