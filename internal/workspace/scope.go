package workspace

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// place is a path inside a folder. Its links were resolved, but may have changed since: use it only
// through the root of the folder.
type place struct {
	folder *folder
	rel    string // "." for the folder itself
}

func (p place) abs() string { return filepath.Join(p.folder.path, p.rel) }

// A chain of links longer than this is a loop (Linux allows 40 too).
const maxLinks = 40

// How often an operation is tried anew when a link appears under it.
const maxSwaps = 8

// Abs returns where path lies: absolute, in scope, links inside the folders
// resolved. It need not exist. The error is a [*PathError].
func (s *scope) Abs(path string) (string, error) {
	p, err := s.locate(path)
	if err != nil {
		return "", err
	}
	return p.abs(), nil
}

// Name returns an absolute path as shown to the model: relative to the first folder, else absolute;
// with slashes. A name stays as it is.
func (s *scope) Name(path string) string {
	path = filepath.Clean(path)
	folders := s.current()
	if !filepath.IsAbs(path) || len(folders) == 0 {
		return filepath.ToSlash(path)
	}
	for _, spelling := range []string{folders[0].path, folders[0].given} {
		if rel, ok := below(spelling, path); ok {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}

// at runs do on the place at the end of path. do must reach the disk through the folder's root. If
// the root refuses a new link on the way, the path is resolved again.
func (s *scope) at(path string, do func(place) error) error {
	return s.retry(path, s.locate, do)
}

// atLink is like at, but a link in the last place is meant itself.
func (s *scope) atLink(path string, do func(place) error) error {
	return s.retry(path, s.locateLink, do)
}

func (s *scope) retry(path string, locate func(string) (place, error), do func(place) error) error {
	for range maxSwaps {
		p, err := locate(path)
		if err != nil {
			return err
		}
		if err := do(p); !escapes(err) {
			return err
		}
	}
	return s.outside(path)
}

func (s *scope) locate(path string) (place, error) { return s.resolve(path, true, s.spelled) }

func (s *scope) locateLink(path string) (place, error) { return s.resolve(path, false, s.spelled) }

// locateExact is locate for paths of editors and records, which are spelled as they are meant.
func (s *scope) locateExact(path string) (place, error) { return s.resolve(path, true, s.absolute) }

func (s *scope) locateExactLink(path string) (place, error) {
	return s.resolve(path, false, s.absolute)
}

// resolve follows the links of path itself, including absolute links, which an os.Root refuses even
// if they stay inside. Its result is only a path: files are opened through the root.
func (s *scope) resolve(path string, last bool, absolute func(string) (string, error)) (place, error) {
	abs, err := absolute(path)
	if err != nil {
		return place{}, err
	}
	for range maxLinks {
		p, ok := s.within(abs)
		if !ok {
			return place{}, s.outside(path)
		}
		target, found := firstLink(p, last)
		if !found {
			return p, nil
		}
		abs = target
	}
	return place{}, &PathError{Path: path, Text: fmt.Sprintf("%s is a link that leads back to itself", path), Err: ErrNotFound}
}

// absolute returns path as an absolute path. It reads the disk only if path begins with a name with
// a special meaning in other programs, such as ~: here it may be a file.
func (s *scope) absolute(path string) (string, error) {
	folders := s.current()
	given := path
	path = FromURI(path)
	switch {
	case len(folders) == 0:
		return "", &PathError{Path: given, Text: "the workspace is closed", Err: os.ErrClosed}
	case path == "":
		return "", &PathError{Path: path, Text: "no path was given; name a file or folder, relative to the workspace", Err: ErrNotFound}
	case strings.ContainsRune(path, 0):
		return "", &PathError{Path: path, Text: fmt.Sprintf("%q is no path: it holds a NUL byte", path), Err: ErrOutside}
	case named(folders[0], path):
	case path == "~" || strings.HasPrefix(path, "~/"):
		return "", &PathError{Path: path, Text: fmt.Sprintf("%s: ~ stands for nothing here; send the path without it, relative to the workspace or absolute inside it (%s)", path, s.scope()), Err: ErrOutside}
	case strings.HasPrefix(path, "http://"), strings.HasPrefix(path, "https://"):
		return "", &PathError{Path: path, Text: path + " does not exist. It is an address, not a path", Advice: ": read it with web_extract, or with curl in terminal", Err: ErrNotFound}
	case strings.HasPrefix(path, "file:/"), hasScheme(path):
		return "", &PathError{Path: path, Text: fmt.Sprintf("%s is an address, not a path; give the path alone, relative to the workspace or absolute", path), Err: ErrOutside}
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	}
	return filepath.Join(folders[0].path, filepath.FromSlash(path)), nil
}

// hasScheme reports whether a path is an address such as vscode-remote://host/a.go.
func hasScheme(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && scheme != "" && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-") == ""
}

// named reports whether a path begins with a file or folder whose name is "~" or ends with ":".
func named(f *folder, path string) bool {
	first, _, _ := strings.Cut(path, "/")
	if first != "~" && !strings.HasSuffix(first, ":") {
		return false
	}
	_, err := f.root.Lstat(first)
	return err == nil
}

// within finds the innermost folder around abs.
func (s *scope) within(abs string) (place, bool) {
	if isProc(abs) {
		return place{}, false
	}
	folders := s.current()
	if p, ok := longest(folders, abs); ok {
		return p, true
	}
	// Perhaps the way to the folder is spelled through a link, as /tmp is on
	// macOS.
	real, ok := realPath(abs)
	if !ok || isProc(real) {
		return place{}, false
	}
	return longest(folders, real)
}

func longest(folders []*folder, abs string) (best place, found bool) {
	depth := -1
	for _, f := range folders {
		for _, spelling := range []string{f.path, f.given} {
			if rel, ok := below(spelling, abs); ok && len(spelling) > depth {
				best, found, depth = place{f, rel}, true, len(spelling)
			}
		}
	}
	return best, found
}

// below returns abs relative to dir, "." for dir itself; ok is false when it is
// not in there. Whole components count: /a/bc is not below /a/b.
func below(dir, abs string) (rel string, ok bool) {
	if samePath(dir, abs) {
		return ".", true
	}
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		dir += string(filepath.Separator)
	}
	if len(abs) <= len(dir) || !samePath(dir, abs[:len(dir)]) {
		return "", false
	}
	return abs[len(dir):], true
}

// samePath compares as the system names its files; editors on Windows disagree
// about the case of the drive letter.
func samePath(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// isProc keeps the process file system out even when a folder is "/": its files
// claim to be regular, and hold other processes' secrets.
func isProc(abs string) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	return abs == "/proc" || strings.HasPrefix(abs, "/proc/")
}

// realPath resolves the links of the existing part of abs.
func realPath(abs string) (string, bool) {
	rest := ""
	for dir := abs; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest), true
		} else if !missing(err) {
			return "", false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

// firstLink looks for the first symbolic link on the way to p and returns where the whole path
// leads when it is followed. last is set if the last component counts.
func firstLink(p place, last bool) (target string, found bool) {
	if p.rel == "." {
		return "", false
	}
	parts := strings.Split(p.rel, string(filepath.Separator))
	dir := p.folder.path
	for i, part := range parts {
		if i == len(parts)-1 && !last {
			return "", false
		}
		here := filepath.Join(dir, part)
		info, err := os.Lstat(here)
		if err != nil {
			return "", false // missing or unreadable: the use will fail
		}
		if info.Mode()&os.ModeSymlink != 0 {
			link, err := os.Readlink(here)
			if err != nil {
				return "", false
			}
			if !filepath.IsAbs(link) {
				link = filepath.Join(dir, link)
			}
			return filepath.Join(append([]string{link}, parts[i+1:]...)...), true
		}
		dir = here
	}
	return "", false
}

// outside returns the error for a path outside of all folders.
func (s *scope) outside(path string) error {
	advice := "Use a path inside it"
	if name := s.sameEnd(path); name != "" {
		advice = fmt.Sprintf("Did you mean %s? Use a path inside it", name)
	}
	return &PathError{Path: path, Text: fmt.Sprintf("%s is outside the workspace (%s). %s; other files can be read with terminal, if the user allows it", path, s.scope(), advice), Err: ErrOutside}
}

// sameEnd returns the name of the file of the workspace whose path is the longest end of path, as
// main.go is of /repo/main.go. If there is none, it returns "".
func (s *scope) sameEnd(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	if len(path) > maxSpelling || slices.Contains(parts, "..") {
		return ""
	}
	for i := 1; i < len(parts); i++ {
		if abs, ok := s.existing(strings.Join(parts[i:], "/")); ok {
			return s.Name(abs)
		}
	}
	return ""
}

func (s *scope) scope() string { return strings.Join(s.Folders(), ", ") }

// FromURI returns the path of a file URI, such as file:///home/ann/a%20b.go. It drops a query and
// a fragment such as #L3. Any other text, and a URI of another machine, stays as it is.
func FromURI(path string) string { return fromURI(path, runtime.GOOS == "windows") }

func fromURI(path string, windows bool) string {
	if len(path) < 8 || !strings.EqualFold(path[:7], "file://") {
		return path
	}
	u, err := url.Parse(path)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" || strings.ContainsRune(u.Path, 0) {
		return path
	}
	if windows {
		return strings.ReplaceAll(strings.TrimPrefix(u.Path, "/"), "/", `\`)
	}
	return u.Path
}
