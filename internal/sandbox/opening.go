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
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// Opening is an exception of the sandbox for one command. The zero Opening is none.
type Opening struct {
	// Open are absolute paths of protected places that the command may write. Each may be
	// a protected place, or lie in one; it need not exist.
	Open []string
	// Frozen is what files hold for the command, by absolute path: the content that was
	// judged. The files must exist. Without mounts, as with Landlock, it has no effect.
	Frozen map[string][]byte
	// Settings are the git settings that the user was shown and has approved, as
	// "name=value". The command may leave them in a configuration that is open.
	Settings []string

	// Git is set if the command line runs git and nothing else. What it leaves in files that
	// agents and tools obey is not asked about: it comes from a repository.
	Git bool
	// Writes are absolute paths of files that the command line was seen to write, which was
	// judged before it was started.
	Writes []string
}

// approves reports whether the user was shown a git setting and has approved it.
func (o Opening) approves(s setting) bool {
	name := strings.ToLower(s.name)
	return slices.ContainsFunc(o.Settings, func(shown string) bool {
		n, value, _ := strings.Cut(shown, "=")
		return strings.ToLower(n) == name && value == s.value
	})
}

// With returns the same sandbox for one command that has an opening. The nil Box
// returns nil.
func (b *Box) With(o Opening) *Box {
	if b == nil {
		return nil
	}
	return &Box{shared: b.shared, opening: o}
}

// opens reports whether the command may write a protected place, or something in it.
func (b *Box) opens(place string) bool {
	return slices.ContainsFunc(b.opening.Open, func(path string) bool { return under(path, place) || under(place, path) })
}

// openIn returns what stays read-only of a protected folder of which the command may
// write something: all that lies beside it. A place that is open as a whole has nothing.
func (b *Box) openIn(place string) (readOnly []string) {
	if slices.ContainsFunc(b.opening.Open, func(path string) bool { return under(place, path) }) {
		return nil
	}
	entries, _ := os.ReadDir(place)
	for _, e := range entries {
		path := filepath.Join(place, e.Name())
		switch {
		case !b.opens(path):
			readOnly = append(readOnly, path)
		case e.IsDir():
			readOnly = append(readOnly, b.openIn(path)...)
		}
	}
	return readOnly
}

// frozen writes the judged content of files into the session's temporary folder, and
// returns what is mounted over them.
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

// keepJudged keeps commands that run already from moving away the files that were judged,
// the folders around them and the links that lead to them, and putting others in their
// place: a mount alone stays with the file that is moved.
func (b *Box) keepJudged(ctx context.Context, roots []string) error {
	var files, pinned []string
	for path := range b.opening.Frozen {
		real, links, ok := follow(path)
		if !ok {
			continue
		}
		files = append(files, real)
		for _, link := range links {
			if dirs := parents(link, roots); dirs != nil || underAny(link, roots) {
				pinned = append(append(pinned, link), dirs...)
			}
		}
		pinned = append(pinned, parents(real, roots)...)
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
	f, err := os.CreateTemp(dir, "new-*") // two commands may freeze the same content at once
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // the first error counts
		return "", err
	}
	return path, nil
}
