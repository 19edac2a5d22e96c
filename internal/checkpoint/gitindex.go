package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// repo names a repository whose objects are read.
type repo struct {
	Folder  string // the working tree
	Objects string // the folder with its objects
}

// gitIndex holds the content of a repository's index.
type gitIndex struct {
	repo
	file    stamp // of the index file
	wrote   int64 // when it was written
	readAt  int64 // when it was read
	convert bool  // the texts of files may differ between git and the disk
	tracked map[string]gitEntry
	folders map[string]bool // with tracked files
}

// gitEntry is a file in the index.
type gitEntry struct {
	stamp
	id      [20]byte
	regular bool
}

// clean returns the id of the object with the content of a file whose stamp is now. If git does not
// track the file, or the file may have changed, ok is false. Like git, it does not trust a file
// modified when the index was written or later: the content may have changed without a new stamp.
func (x *gitIndex) clean(path string, now stamp) (id [20]byte, ok bool) {
	e, tracked := x.tracked[path]
	if !tracked || !e.regular || e.Modified >= x.wrote || e.Size != now.Size&0xffffffff || e.Modified != now.Modified {
		return id, false
	}
	if e.Changed != 0 && e.Changed != now.Changed || e.Inode != 0 && e.Inode != now.Inode&0xffffffff {
		return id, false
	}
	return e.id, true
}

// openRepo reads the index of the repository whose .git is in folder. If known is still current,
// it returns known. If there is no repository, or its index cannot be used, it returns nil.
func openRepo(folder string, known *gitIndex) *gitIndex {
	found, err := gitrepo.At(folder)
	if err != nil {
		return nil
	}
	dir, common := found.GitDir, found.Common
	config, err := safefile.Read(filepath.Join(common, "config"), safefile.Settings)
	if err != nil || strings.Contains(strings.ToLower(string(config)), "objectformat") { // only SHA-1 is supported
		return nil
	}
	x := &gitIndex{repo: repo{folder, filepath.Join(common, "objects")}, tracked: map[string]gitEntry{}, folders: map[string]bool{}}
	file := filepath.Join(dir, "index")
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostIndex {
		return nil
	}
	x.file = stampOf(info)
	convert := converts(config, common)
	if known != nil && known.file == x.file && known.repo == x.repo && x.file.settled(known.readAt) && (known.convert || !convert) {
		return known
	}
	x.readAt = stampNow()
	data, err := readIndex(dir)
	if err != nil || x.parse(data) != nil {
		return nil
	}
	x.wrote = info.ModTime().UnixNano()
	x.convert = x.convert || convert
	return x
}

func readIndex(dir string) ([]byte, error) {
	folder, err := safefile.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Read("index", mostIndex)
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// converts reports whether the settings of the repository, the user or the system let git convert texts,
// such as line ends. Tracked attributes are found in the index.
func converts(config []byte, common string) bool {
	if _, err := os.Lstat(filepath.Join(common, "info", "attributes")); err == nil {
		return true
	}
	home, _ := os.UserHomeDir() // without a home, there are no settings
	further := os.Getenv("XDG_CONFIG_HOME")
	if further == "" {
		further = filepath.Join(home, ".config")
	}
	for _, path := range []string{filepath.Join(further, "git", "attributes"), "/etc/gitattributes"} {
		if text, _ := safefile.Read(path, safefile.Settings); converting.Match(text) {
			return true
		}
	}
	texts := [][]byte{config}
	todo := []string{"/etc/gitconfig", filepath.Join(home, ".gitconfig"), filepath.Join(further, "git", "config"), os.Getenv("GIT_CONFIG_GLOBAL")}
	todo = append(todo, included(config, common, home)...)
	for i := 0; i < len(todo) && i < mostSettings; i++ {
		if text, err := safefile.Read(todo[i], safefile.Settings); err == nil {
			texts = append(texts, text)
			todo = append(todo, included(text, filepath.Dir(todo[i]), home)...)
		}
	}
	for _, text := range texts {
		if lower := strings.ToLower(string(text)); strings.Contains(lower, "autocrlf") || strings.Contains(lower, "attributesfile") {
			return true
		}
	}
	return runtime.GOOS == "windows"
}

// mostSettings limits the settings files that include each other.
const mostSettings = 20

// converting matches attributes with which git converts texts.
var converting = lazyregexp.New(`(?m)^[^#\n]*\s-?(text|crlf|eol|ident|filter|working-tree-encoding)\b`)

// included returns the paths in the settings of a file in dir, such as those of files that it includes.
func included(text []byte, dir, home string) (paths []string) {
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(key), "path") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = filepath.Join(home, rest)
		}
		paths = append(paths, within(dir, value))
	}
	return paths
}

// findRepo returns the nearest parent of folder with a .git. If there is none, it returns "".
func findRepo(folder string) (at string) {
	for at = filepath.Dir(folder); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// mostIndexes is how many indexes are cached. mostIndex is how many bytes an index may have:
// enough for two million files.
const (
	mostIndexes = 16
	mostIndex   = 256 << 20
)

var errIndex = errors.New("git's index is not as expected")

// parse reads an index of version 2, 3 or 4.
func (x *gitIndex) parse(data []byte) error {
	if len(data) < 12+20 || string(data[:4]) != "DIRC" {
		return errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), int(binary.BigEndian.Uint32(data[8:]))
	if version < 2 || version > 4 || count > len(data)/62 {
		return errIndex
	}
	rest, previous, folder := data[12:len(data)-20], "", ""
	for range count {
		name, n, err := x.entry(rest, version, previous)
		if err != nil {
			return err
		}
		rest, previous = rest[n:], name
		if i := strings.LastIndexByte(name, '/'); i >= 0 && name[:i] != folder {
			folder = name[:i]
			x.addFolder(folder)
		}
	}
	if bytes.HasPrefix(rest, []byte("link")) {
		return errIndex // a split index: the rest is in another file
	}
	return nil
}

// entry reads the first entry of data and returns its name and its length.
func (x *gitIndex) entry(data []byte, version uint32, previous string) (name string, n int, err error) {
	if len(data) < 64 {
		return "", 0, errIndex
	}
	word := func(at int) int64 { return int64(binary.BigEndian.Uint32(data[at:])) }
	e := gitEntry{stamp: stamp{
		Changed: word(0)*1e9 + word(4), Modified: word(8)*1e9 + word(12), Inode: uint64(word(20)), Size: word(36),
	}}
	e.regular = word(24)>>12 == 0o10
	copy(e.id[:], data[40:60])
	flags := binary.BigEndian.Uint16(data[60:])
	n = 62
	if flags&0x4000 != 0 { // extended flags: skip-worktree or intent-to-add
		n += 2
	}
	if flags&0x3000 != 0 { // a side of a conflict
		e.regular = false
	}
	keep := 0
	if version == 4 {
		drop, length := offsetVarint(data[n:])
		if length == 0 || drop > len(previous) {
			return "", 0, errIndex
		}
		n, keep = n+length, len(previous)-drop
	}
	end := bytes.IndexByte(data[n:], 0)
	if end < 0 {
		return "", 0, errIndex
	}
	name = previous[:keep] + string(data[n:n+end])
	x.convert = x.convert || strings.HasSuffix(name, ".gitattributes")
	if n += end; version == 4 {
		n++
	} else if n = (n + 8) &^ 7; n > len(data) {
		return "", 0, errIndex
	}
	x.tracked[filepath.Join(x.Folder, filepath.FromSlash(name))] = e
	return name, n, nil
}

// offsetVarint reads git's variable length number. If data contains none, it returns length 0.
func offsetVarint(data []byte) (value, length int) {
	for i, b := range data[:min(len(data), 5)] {
		if i > 0 {
			value++
		}
		value = value<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}

func (x *gitIndex) addFolder(name string) {
	for at := filepath.Join(x.Folder, filepath.FromSlash(name)); at != x.Folder && !x.folders[at]; at = filepath.Dir(at) {
		x.folders[at] = true
	}
}

// holds reports whether git tracks path or a file below it.
func (x *gitIndex) holds(path string) bool {
	if x.folders[path] {
		return true
	}
	_, ok := x.tracked[path]
	return ok
}
