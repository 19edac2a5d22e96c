// Package folderpath compares folders by identity instead of path, and maps paths of a renamed
// folder.
package folderpath

import (
	"os"
	"path/filepath"
	"strings"
)

// Same reports whether two absolute paths name the same folder: through links, in another case on a
// case-insensitive file system, or through another mount. If a folder does not exist, it compares
// the paths.
func Same(a, b string) bool {
	if a, b = filepath.Clean(a), filepath.Clean(b); a == b {
		return true
	}
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	if errA == nil || errB == nil {
		return errA == nil && errB == nil && os.SameFile(ia, ib)
	}
	return Real(a) == Real(b)
}

// Real returns path, which is absolute, with the links of its existing part resolved.
func Real(path string) string {
	rest := ""
	for dir := filepath.Clean(path); ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

// Move is a renamed folder. Both paths are absolute.
type Move struct{ Old, New string }

// Path returns the new path of the old folder, or of something below it. Of any other path, ok is false.
func (m Move) Path(path string) (moved string, ok bool) {
	if moved, ok = m.Below(path); ok {
		return moved, true
	}
	moved, ok = Move{Real(m.Old), m.New}.Below(filepath.Join(Real(filepath.Dir(path)), filepath.Base(path)))
	if !ok {
		return path, false
	}
	return moved, true
}

// Below is Path without checking links.
func (m Move) Below(path string) (moved string, ok bool) {
	rel, err := filepath.Rel(m.Old, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path, false
	}
	return filepath.Join(m.New, rel), true
}

// Shell returns a path as a single shell word.
func Shell(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r) || r > 127
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 && path[0] != '-' {
		return path
	}
	if os.PathSeparator == '\\' {
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
