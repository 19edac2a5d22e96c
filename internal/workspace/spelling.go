package workspace

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// reading is a path possibly meant by a model's path.
type reading struct {
	path string
	// odd: the model's path has characters around this path, or is spelled as on another system. No
	// file is made under its name. Otherwise the model's path could be a file's name, and only an
	// existing file is preferred.
	odd bool
}

// spelled returns the absolute path meant by a model: the given path if it exists, otherwise its
// first existing reading. For a new file, it is a reading of an odd spelling, if any. Parts in
// another Unicode form than the names on the disk get the form on the disk. Callers judge the
// result, not the spelling.
func (s *scope) spelled(given string) (string, error) {
	plain, err := s.absolute(given)
	if err == nil {
		if _, statErr := os.Lstat(plain); statErr == nil {
			return plain, nil
		}
		if same, ok := s.sameLook(plain, true); ok {
			return same, nil
		}
	}
	if len(given) > maxSpelling {
		return plain, err
	}
	all := s.readings(given)
	for _, r := range all {
		if abs, ok := s.existing(r.path); ok {
			return abs, nil
		}
	}
	last := true // of the odd readings, only the last has nothing around it
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		if r.odd && last && !drive.MatchString(r.path) || !r.odd && s.startsElsewhere(given, r.path) {
			if abs, ok := s.inside(r.path); ok {
				if same, ok := s.sameLook(abs, false); ok {
					return same, nil
				}
				return abs, nil
			}
		}
		last = last && !r.odd
	}
	if err == nil {
		if same, ok := s.sameLook(plain, false); ok {
			return same, nil
		}
	}
	if err == nil && len(all) > 0 && all[0].odd {
		advice := ""
		if name := s.sameEnd(given); name != "" {
			advice = ", such as " + name
		}
		return "", &PathError{Path: given, Text: fmt.Sprintf("%q is not the path of a file of the workspace (%s), and no file is made under this name. Send the path alone, relative to the workspace%s", given, s.scope(), advice), Err: ErrOutside}
	}
	return plain, err
}

// maxSpelling bounds the length of a path with readings.
const maxSpelling = 4096

// inside returns path as an absolute path of a folder.
func (s *scope) inside(path string) (string, bool) {
	abs, err := s.absolute(path)
	if err != nil {
		return "", false
	}
	if _, ok := s.within(abs); !ok {
		return "", false
	}
	return abs, true
}

func (s *scope) existing(path string) (string, bool) {
	abs, ok := s.inside(path)
	if !ok {
		return "", false
	}
	if _, err := os.Lstat(abs); err == nil {
		return abs, true
	}
	return s.sameLook(abs, true)
}

// startsElsewhere reports whether a new file is meant by its reading: its folder exists below a
// workspace folder, and the first part of the given path does not.
func (s *scope) startsElsewhere(given, read string) bool {
	abs, ok := s.inside(read)
	if !ok {
		return false
	}
	p, _ := s.within(filepath.Dir(abs))
	if info, err := os.Stat(filepath.Dir(abs)); err != nil || !info.IsDir() || p.rel == "." && !s.namesFolder(given) {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimLeft(given, "/"), "/")
	if filepath.IsAbs(given) {
		first = "/" + first
	} else {
		first = filepath.Join(s.current()[0].path, first)
	}
	_, err := os.Lstat(first)
	return missing(err)
}

// namesFolder reports whether there are several workspace folders and a path begins with a folder's
// name, as editors show it.
func (s *scope) namesFolder(path string) bool {
	folders := s.current()
	first, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	for _, f := range folders {
		if len(folders) > 1 && filepath.Base(f.path) == first {
			return true
		}
	}
	return false
}

var (
	markdownLink = regexp.MustCompile(`^!?\[[^\]]*\]\(<?([^()<>]+)>?\)$`)
	tagged       = regexp.MustCompile(`^<(\w+)>\s*([^<>]+?)\s*</\w+>$`)
	lineSuffix   = regexp.MustCompile(`(:\d+(:\d+)?(-\d+(:\d+)?)?:?|:L\d+(-L?\d+)?|#L\d+(C\d+)?(-L?\d+(C\d+)?)?|\(\d+(,\s*\d+)?\):?|:)$`)
	drive        = regexp.MustCompile(`^(?:/mnt|/cygdrive)?(?:/([A-Za-z])|([A-Za-z]):)(?:/|$)`)
	wslShare     = regexp.MustCompile(`^//(?:wsl\$|wsl\.localhost)/[^/]+(/.*)$`)
	variable     = regexp.MustCompile(`^(?:\$\{workspaceFolder\}|\$\{workspaceRoot\}|\$\{?PWD\}?)/`)
)

// readings lists the paths possibly meant by a given path, the likeliest first.
func (s *scope) readings(given string) (all []reading) {
	path := given
	add := func(read string, odd bool) {
		if read == "" || read == given || strings.ContainsRune(read, 0) {
			return
		}
		for _, r := range all {
			if r.path == read {
				return
			}
		}
		all = append(all, reading{read, odd})
	}
	for range 4 { // such as a link with a line in quotes
		next := unwrap(path)
		if next == path {
			break
		}
		path = next
		add(path, true)
	}
	if runtime.GOOS != "windows" && strings.ContainsRune(path, '\\') {
		add(unescapeShell(path), true)
		path = strings.ReplaceAll(path, `\`, "/")
		add(path, true)
	}
	if strings.ContainsRune(path, '%') {
		if plain, err := url.PathUnescape(path); err == nil && plain != path && !strings.ContainsAny(plain, "\x00\n") {
			path = plain
			add(path, true)
		}
	}
	if m := wslShare.FindStringSubmatch(path); m != nil {
		path = m[1]
		add(path, true)
	}
	if cut := variable.FindString(path); cut != "" {
		path = path[len(cut):]
		add(path, true)
	}
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, "~/") {
		path = filepath.Join(home, path[2:])
		add(path, true)
	}
	foreign := drive.MatchString(path) && (runtime.GOOS != "windows" || path[0] == '/')
	if m := drive.FindStringSubmatch(path); foreign && runtime.GOOS == "windows" {
		add(m[1]+":/"+path[len(m[0]):], true)
	}
	s.addSoft(path, foreign, strings.Contains(given, "file:/"), add)
	return all
}

// addSoft adds readings of a well-formed path with another beginning.
func (s *scope) addSoft(path string, foreign, uri bool, add func(string, bool)) {
	if at, ok := strings.CutPrefix(path, "@"); ok {
		add(at, false)
		path = at
	}
	for _, prefix := range []string{"a/", "b/"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			add(rest, false)
		}
	}
	if filepath.IsAbs(path) || foreign {
		if _, err := os.Lstat(path); err == nil {
			return // it is another file, outside of the workspace
		}
	}
	parts := strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
	for _, f := range s.current() {
		name := filepath.Base(f.path)
		for i, part := range parts {
			if part != name || i > 0 && !filepath.IsAbs(path) && !foreign {
				continue
			}
			add(filepath.Join(f.path, filepath.Join(parts[i+1:]...)), foreign)
			break
		}
	}
	if rest, ok := strings.CutPrefix(path, "/"); ok && !foreign && !uri {
		add(rest, false) // as if the workspace was the root
	}
}

// unwrap removes what a model writes around a path: quotes, tags, a link, a line number.
func unwrap(path string) string {
	if next := strings.TrimSpace(path); next != path {
		return next
	}
	if m := markdownLink.FindStringSubmatch(path); m != nil {
		return m[1]
	}
	if m := tagged.FindStringSubmatch(path); m != nil {
		return m[2]
	}
	for _, pair := range []string{"``", `""`, "''", "<>", "“”", "‘’", "«»"} {
		runes := []rune(pair)
		if inner, ok := strings.CutPrefix(path, string(runes[0])); ok {
			if inner, ok = strings.CutSuffix(inner, string(runes[1])); ok && inner != "" {
				return inner
			}
		}
	}
	if rest, ok := strings.CutPrefix(path, "@"); ok && rest != "" && strings.ContainsAny(rest[:1], "`\"'") {
		return rest
	}
	if next := FromURI(path); next != path {
		return next
	}
	if rest, ok := strings.CutPrefix(path, "file:"); ok && rest != "" && rest[0] != '/' {
		return rest
	}
	if cut := lineSuffix.FindString(path); cut != "" && cut != path {
		return strings.TrimSuffix(path, cut)
	}
	return path
}

// unescapeShell removes the backslashes of a word of a shell, such as a\ b.
func unescapeShell(path string) string {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+1 < len(path) && strings.IndexByte(` '"()[]&;$!*?\`+"`", path[i+1]) >= 0 {
			i++
		}
		out.WriteByte(path[i])
	}
	return out.String()
}

// sameLook returns abs with the names of the disk, where they look the same: in another Unicode
// form, or with another space or apostrophe. If whole is not set, the last parts may be missing. If
// nothing differs, ok is false.
func (s *scope) sameLook(abs string, whole bool) (same string, ok bool) {
	p, inside := s.within(abs)
	if !inside || p.rel == "." || !mayLookAlike(p.rel) {
		return "", false
	}
	at, parts := p.folder.path, strings.Split(p.rel, string(filepath.Separator))
	for i, part := range parts {
		here := filepath.Join(at, part)
		if _, err := os.Lstat(here); err == nil {
			at = here
			continue
		}
		name := lookAlike(at, part)
		if name == "" && whole {
			return "", false
		}
		if name == "" {
			return filepath.Join(append([]string{at}, parts[i:]...)...), ok
		}
		at, ok = filepath.Join(at, name), true
	}
	return at, ok
}

// mayLookAlike reports whether another name can look the same.
func mayLookAlike(path string) bool {
	return strings.IndexFunc(path, func(r rune) bool { return r > 127 || r == ' ' || r == '\'' }) >= 0
}

// lookAlike returns the only name in a folder resembling name, or "".
func lookAlike(folder, name string) string {
	if !mayLookAlike(name) {
		return ""
	}
	dir, err := os.OpenFile(folder, safefile.Flags, 0)
	if err != nil {
		return ""
	}
	defer dir.Close() // only read
	names, _ := dir.Readdirnames(maxSuggestLooks)
	found, want := "", look(name)
	for _, other := range names {
		if look(other) == want {
			if found != "" {
				return ""
			}
			found = other
		}
	}
	return found
}

var sameSpace = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2007", " ", "\u2019", "'", "\u2018", "'")

func look(name string) string { return sameSpace.Replace(norm.NFC.String(name)) }

// Readings lists the absolute paths in the folders possibly meant by a path, besides the result of
// Abs. A write is judged by all of them, because files appear and disappear meanwhile.
func (s *scope) Readings(path string) (all []string) {
	if len(path) > maxSpelling {
		return nil
	}
	if abs, ok := s.inside(path); ok {
		all = append(all, abs)
	}
	for _, r := range s.readings(path) {
		if abs, ok := s.inside(r.path); ok {
			all = append(all, abs)
		}
	}
	return all
}
