package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// repo is a repository whose objects are read.
type repo struct {
	Folder  string // of its working tree
	Objects string // the folder of its objects
}

// gitIndex is what git knows of a working tree.
type gitIndex struct {
	repo
	file    stamp // of the index
	wrote   int64 // when it was written
	readAt  int64 // when we read it
	convert bool  // files may be another text in git than on the disk
	tracked map[string]gitEntry
	folders map[string]bool // that hold something tracked
}

// gitEntry is one file as git has last seen it.
type gitEntry struct {
	stamp
	id      [20]byte
	regular bool
}

// clean tells whether the file with a stamp is what git has under the entry's id.
// As git does it: a file that was changed in the very moment in which the index was
// written may have another content in spite of its stamp.
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

// openRepo reads the index of the repository whose .git lies in folder, unless known
// is what is in there; nil: there is none that can be used.
func openRepo(folder string, known *gitIndex) *gitIndex {
	found, err := gitrepo.At(folder)
	if err != nil {
		return nil
	}
	dir, common := found.GitDir, found.Common
	config, err := safefile.Read(filepath.Join(common, "config"), safefile.Settings)
	if err != nil || strings.Contains(strings.ToLower(string(config)), "objectformat") { // SHA-1 is what we read
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

// converts tells whether the user's or the repository's settings let git change texts
// on their way, such as line ends. Attributes that are tracked are seen in the index.
func converts(config []byte, common string) bool {
	if _, err := os.Lstat(filepath.Join(common, "info", "attributes")); err == nil {
		return true
	}
	home, _ := os.UserHomeDir() // none: no settings
	global, _ := safefile.Read(filepath.Join(home, ".gitconfig"), safefile.Settings)
	further, _ := safefile.Read(filepath.Join(home, ".config", "git", "config"), safefile.Settings)
	for _, text := range [][]byte{config, global, further} {
		if lower := strings.ToLower(string(text)); strings.Contains(lower, "autocrlf") || strings.Contains(lower, "attributesfile") {
			return true
		}
	}
	return runtime.GOOS == "windows"
}

// findRepo looks for the repository that folder lies in, folder itself aside; empty:
// there is none.
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

// index is what git knows of the working tree in folder. The newest ones are
// remembered, because to read them takes as long as to look at the files.
func (s *Store) index(folder string) *gitIndex {
	s.mu.Lock()
	known := s.indexes[folder]
	s.mu.Unlock()
	x := openRepo(folder, known)
	if x == known || x == nil {
		return x
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.indexes) >= mostIndexes || s.indexes == nil {
		s.indexes = map[string]*gitIndex{}
	}
	s.indexes[folder] = x
	return x
}

// mostIndexes is how many are remembered, mostIndex how many bytes one may have: two
// million files.
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
		return errIndex // the rest of it is in another file
	}
	return nil
}

// entry reads the first entry of data and says how long it is.
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
	if flags&0x4000 != 0 { // more flags: of a file that is not there, or will be
		n += 2
	}
	if flags&0x3000 != 0 { // one side of a conflict
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

// offsetVarint is git's own kind of variable length number; no length: there is none.
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

// holds reports whether git tracks a path, or something below it.
func (x *gitIndex) holds(path string) bool {
	if x.folders[path] {
		return true
	}
	_, ok := x.tracked[path]
	return ok
}

// gitFolder is a repository of our own that borrows the objects of another, so that
// git can read them without a look at that one's settings.
func (s *Store) gitFolder(objects string) (string, error) {
	dir := filepath.Join(s.dir, "git", sumOf([]byte(objects))[:32])
	alternates := filepath.Join(dir, "objects", "info", "alternates")
	if text, err := safefile.Read(alternates, safefile.Line); err == nil && string(text) == quotedAlternate(objects) {
		return dir, nil
	}
	files := []struct{ name, text string }{
		{"HEAD", "ref: refs/heads/none\n"},
		{"config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"},
		{filepath.Join("refs", "none"), ""},
		{filepath.Join("objects", "info", "alternates"), quotedAlternate(objects)},
	}
	for _, f := range files {
		if err := writeAtomic(filepath.Join(dir, f.name), []byte(f.text)); err != nil {
			return "", fmt.Errorf("making a place to read git's objects from: %w", err)
		}
	}
	return dir, nil
}

// quotedAlternate is a line of git's list, which takes names in quotes as C does.
func quotedAlternate(objects string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(objects) + "\"\n"
}

// blobs reads objects of a repository and gives each to take; those that are not
// there are left out.
func (s *Store) blobs(ctx context.Context, confine Confiner, objects string, ids [][20]byte, take func(id [20]byte, text []byte) error) error {
	return s.catFile(ctx, confine, objects, "--batch", ids, func(id [20]byte, size int64, in *bufio.Reader) error {
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return err
		}
		if _, err := in.Discard(1); err != nil {
			return err
		}
		return take(id, text)
	})
}

// sizes tells how long objects of a repository are; those that are not there are
// left out.
func (s *Store) sizes(ctx context.Context, confine Confiner, objects string, ids [][20]byte) (map[[20]byte]int64, error) {
	known := make(map[[20]byte]int64, len(ids))
	err := s.catFile(ctx, confine, objects, "--batch-check", ids, func(id [20]byte, size int64, _ *bufio.Reader) error {
		known[id] = size
		return nil
	})
	return known, err
}

// catFile has git tell of objects; each is called for those that are there.
func (s *Store) catFile(ctx context.Context, confine Confiner, objects, how string, ids [][20]byte, each func(id [20]byte, size int64, rest *bufio.Reader) error) error {
	if path := unreadableObject(objects, ids, 5); path != "" {
		return fmt.Errorf("reading git's objects: %s is not a regular file of its kind", path)
	}
	dir, err := s.gitFolder(objects)
	if err != nil {
		return err
	}
	var asked bytes.Buffer
	for _, id := range ids {
		asked.WriteString(hex.EncodeToString(id[:]) + "\n")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out, into := io.Pipe()
	answered := make(chan error, 1)
	go func() {
		err := readAnswers(bufio.NewReaderSize(out, 64<<10), ids, each)
		_ = out.CloseWithError(err) // always nil
		answered <- err
	}()
	var words bytes.Buffer
	exit, err := s.run(ctx, confine, proc.Cmd{
		Args: []string{s.git(), "--git-dir=" + dir, "cat-file", how}, Dir: dir, Stdin: &asked, Stdout: into, Stderr: &words,
	})
	_ = into.Close() // always nil
	failed := <-answered
	switch {
	case err == nil && exit.Code != 0:
		err = errors.New(strings.TrimSpace(words.String()))
	case err == nil:
		err = failed
	}
	if err != nil {
		return fmt.Errorf("reading git's objects: %w", err)
	}
	return nil
}

// run runs git, in the sandbox if there is one: only it reads objects that commands may
// have changed, or that lie where commands have led it.
func (s *Store) run(ctx context.Context, confine Confiner, c proc.Cmd) (proc.Exit, error) {
	s.gitMu.Lock()
	c.Env = program.Environ(gitEnviron(), s.avoided)
	s.gitMu.Unlock()
	if confine != nil {
		if err := confine(ctx, &c, c.Dir); err != nil {
			return proc.Exit{}, err
		}
	}
	return proc.Run(ctx, c)
}

// unreadableObject names what git would open to read the objects with ids and would wait
// for, such as a named pipe; empty: nothing. depth bounds the chain of folders that borrow
// from each other, as git does.
func unreadableObject(objects string, ids [][20]byte, depth int) string {
	alternates := filepath.Join(objects, "info", "alternates")
	paths := []string{alternates, filepath.Join(objects, "info", "commit-graph")}
	packs, _ := os.ReadDir(filepath.Join(objects, "pack"))
	for _, e := range packs {
		paths = append(paths, filepath.Join(objects, "pack", e.Name()))
	}
	for _, id := range ids {
		name := hex.EncodeToString(id[:])
		paths = append(paths, filepath.Join(objects, name[:2], name[2:]))
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return path
		}
	}
	text, err := safefile.Read(alternates, safefile.Line)
	if errors.Is(err, safefile.ErrTooLarge) { // git would read all of it
		return alternates
	}
	if err != nil || depth == 0 {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			if path := unreadableObject(within(objects, line), ids, depth-1); path != "" {
				return path
			}
		}
	}
	return ""
}

// gitEnviron keeps every setting away, and git from fetching what is not there.
func gitEnviron() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1",
	}
}

// readAnswers reads what cat-file says, one answer for each id in their order.
func readAnswers(in *bufio.Reader, ids [][20]byte, each func([20]byte, int64, *bufio.Reader) error) error {
	for _, id := range ids {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		words := strings.Fields(line)
		if len(words) != 3 {
			continue // missing
		}
		size, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil || size < 0 || size > maxObject || words[1] != "blob" {
			return fmt.Errorf("git answered %q", line)
		}
		if err := each(id, size, in); err != nil {
			return err
		}
	}
	return nil
}

// maxObject is more than any object of a file that counts.
const maxObject = 1 << 30
