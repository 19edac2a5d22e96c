package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// standIn makes a folder to replace the home, with the home's links and current copies of its
// settings. It contains a folder for each mount in it. covers are files of ours to replace settings
// in tools' own folders.
func (t *Temp) standIn(v *homeView, mounted []string) (dir string, covers []confine.Copy, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir = t.dir.Path("home", layoutOf(v, mounted))
	if err := t.copies(dir, v.files); err != nil {
		return "", nil, fmt.Errorf("making what stands in for the home: %w", err)
	}
	if err := link(dir, v); err != nil {
		return "", nil, fmt.Errorf("making what stands in for the home: %w", err)
	}
	over := t.dir.Path("covers")
	dirty := slices.DeleteFunc(slices.Clone(v.inTools), func(f settingsFile) bool { return !f.dirty })
	if err := t.copies(over, dirty); err != nil {
		return "", nil, fmt.Errorf("copying settings without secrets: %w", err)
	}
	for _, f := range dirty {
		covers = append(covers, confine.Copy{From: filepath.Join(over, f.name), At: f.path})
	}
	return dir, covers, nil
}

// layoutOf names a layout of mounts and links. Each layout has a separate folder, so a folder is
// never in the way of a link.
func layoutOf(v *homeView, mounted []string) string {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(v.links)) {
		fmt.Fprintf(h, "%q %q\n", path, v.links[path])
	}
	slices.Sort(mounted)
	fmt.Fprintf(h, "%q", mounted)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// copies updates the changed files below dir and removes missing ones. A file in a linked folder
// has no copy: the link leads to it.
func (t *Temp) copies(dir string, files []settingsFile) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	there := map[string]bool{}
	var changed []settingsFile
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		there[path] = true
		if old, made := t.contents[path]; !made || !bytes.Equal(old, f.text) {
			changed = append(changed, f)
		}
	}
	var gone []string
	for path := range t.contents {
		if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) && !there[path] {
			gone = append(gone, name)
		}
	}
	if len(changed)+len(gone) == 0 {
		return nil
	}
	root, err := safefile.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer root.Close() // only a handle
	for _, f := range changed {
		if replaceIn(root, f.name, f.text) == nil {
			t.contents[filepath.Join(dir, f.name)] = f.text
		}
	}
	for _, name := range gone {
		_ = root.Remove(name) // it may be gone
		delete(t.contents, filepath.Join(dir, name))
	}
	return nil
}

// replaceIn replaces a file atomically, since others may be reading it.
func replaceIn(root *safefile.Folder, name string, text []byte) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return root.Write(name, text, 0o644)
}

// link makes the links of a home in its replacement.
func link(dir string, v *homeView) error {
	for path, to := range v.links {
		name, err := filepath.Rel(v.home, path)
		if err != nil {
			return err
		}
		at := filepath.Join(dir, name)
		if _, err := os.Lstat(at); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(to, at); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}
