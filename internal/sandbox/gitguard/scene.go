package gitguard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// Kinds of reviewed items. Each is the beginning of an item's name.
const (
	hookItem    = "hook"    // a program run by git
	settingItem = "setting" // a git setting that runs a program
	pointerItem = "pointer" // a file with the path of a repository or its settings
	placeItem   = "place"   // a file read automatically by an editor, a shell or an agent
	ownItem     = "own"     // our own settings
	orderItem   = "order"   // a file obeyed by agents, or run by tools when the user calls them
	importItem  = "import"  // a file imported by instructions, or a link on the way to it
	cutItem     = "cut"     // an incompletely scanned folder
	todoItem    = "rebase"  // the programs run when the user continues a rebase
)

// item is a file or setting that could make the user's programs run code or read other files. Two
// scans of the same state give equal items.
type item struct {
	kind  string
	path  string // of the file
	name  string // of the setting; else empty
	value string // of the setting, or a mark of the content
}

func (i item) key() string { return i.kind + "\x00" + i.path + "\x00" + i.name }

// Scene is the result of a scan of the workspace: the reviewed items, and the places to hold.
type Scene struct {
	at       time.Time
	roots    []string
	items    map[string]string // value by key
	readOnly []place
	pinned   []place
	made     []string // missing folders of repositories, made to be held
	found    found
	later    bool // the next notes belong to an unfinished repository

	from   map[string]string // for an imported path: the file or link that leads to it
	former []string          // keys of imports that are no imports any more
}

// place is a held path. A command may also change it by opening via.
type place struct {
	path, via string
	later     bool // running commands may still need it: see [Guard.protect]
}

// hold makes a path read-only, and pins the folders around it and the links on the way.
func (s *Scene) hold(path, via string) {
	real, links, ok := fspath.Follow(path)
	for _, link := range links {
		s.pin(link, via)
	}
	if !ok {
		return
	}
	s.readOnly = append(s.readOnly, place{real, via, s.later})
	s.around(real, via)
}

// pin keeps a folder or a link from being moved or replaced, and the folders around it.
func (s *Scene) pin(path, via string) {
	s.pinned = append(s.pinned, place{path, via, s.later})
	s.around(path, via)
}

func (s *Scene) around(path, via string) {
	for _, dir := range fspath.Parents(path, s.found.writable) {
		s.pinned = append(s.pinned, place{dir, via, s.later})
	}
}

func (s *Scene) add(i item) { s.items[i.key()] = i.value }

// Look scans the whole workspace.
func (g *Guard) Look() *Scene { return g.lookAt(false) }

// lookAt is Look. If brief is set, it skips known dependencies; the scan after the command includes
// them.
func (g *Guard) lookAt(brief bool) *Scene {
	g.looking.Lock()
	defer g.looking.Unlock()
	roots := fspath.Existing(g.cfg.Roots())
	s := &Scene{at: time.Now(), roots: roots, items: map[string]string{}}
	s.found.writable = append(fspath.Existing(Outside(roots)), roots...)
	var git, instructions []string
	for _, root := range roots {
		seen := g.walkerOf(root).look(brief)
		git = append(git, seen.git...)
		for _, path := range seen.named {
			s.settings(g, path, root)
		}
		instructions = append(instructions, instructs(seen.named, root)...)
		if seen.cut {
			s.add(item{kind: cutItem, path: root})
		}
	}
	s.imported(g, instructions)
	s.found = find(git, roots, s.found.writable)
	for _, dir := range s.found.cut {
		s.add(item{kind: cutItem, path: dir})
	}
	for _, link := range s.found.linked {
		real, _, _ := fspath.Follow(link)
		s.addOutside(link, real)
	}
	var configs []string
	for _, r := range s.found.repos {
		configs = append(configs, filepath.Join(r.dir, "config"), filepath.Join(r.dir, "config.worktree"))
	}
	configs = append(configs, g.cfg.settingsOfUser()...)
	g.readSettings(configs)
	s.global(g)
	for _, e := range s.found.entries {
		s.later = s.found.isUnfinished(e.dir)
		s.entry(e)
	}
	for _, r := range s.found.repos {
		s.later = r.unfinished
		s.repository(g, r)
	}
	return s
}

// entry records a .git entry.
func (s *Scene) entry(e entry) {
	for _, link := range e.links {
		s.pin(link, e.dir)
	}
	if e.file {
		s.hold(e.path, e.dir)
		s.add(item{kind: pointerItem, path: e.path, value: e.text})
	}
	if e.at != "" && !fspath.UnderAny(e.at, s.found.writable) {
		s.addOutside(e.path, e.at)
	}
}

// leadsAway begins the value of a file or link leading git out of the workspace. No mount holds
// such places, and commands can write some of them: /tmp and caches.
const leadsAway = "\x00leads to "

func (s *Scene) addOutside(path, to string) {
	s.add(item{kind: pointerItem, path: path, value: leadsAway + to})
}

// leaves reports whether a path leads out of the workspace and its repositories. It records the
// last of their links on the way.
func (s *Scene) leaves(path string) bool {
	real, links, _ := fspath.Follow(path)
	if fspath.UnderAny(real, s.found.writable) {
		return false
	}
	for _, link := range slices.Backward(links) {
		if fspath.UnderAny(link, s.found.writable) {
			s.addOutside(link, real)
			break
		}
	}
	return true
}

// repository records the items of a repository.
func (s *Scene) repository(g *Guard, r repository) {
	root, err := open(r.dir, s.roots)
	if err != nil {
		return
	}
	defer root.Close() // only read
	via := ""
	if r.main != "" {
		via = r.dir
	}
	s.pin(r.dir, via)
	if r.commondir != "" {
		s.add(item{kind: pointerItem, path: filepath.Join(r.dir, "commondir"), value: r.commondir})
	}
	for _, name := range []string{"commondir", "gitdir"} {
		if _, err := root.Lstat(name); err == nil {
			s.hold(filepath.Join(r.dir, name), via)
		}
	}
	for _, name := range []string{"config", "config.worktree"} {
		if _, err := root.Lstat(name); err == nil {
			path := filepath.Join(r.dir, name)
			s.hold(path, "")
			s.config(g, path)
		}
	}
	for name, runs := range gitrepo.Resumes(root) {
		s.add(item{kind: todoItem, path: filepath.Join(r.dir, name), value: runs})
	}
	for _, name := range inRepository {
		if _, err := root.Lstat(name); err == nil {
			path := filepath.Join(r.dir, name)
			s.hold(path, "")
			s.add(item{kind: placeItem, path: path, value: g.mark(root, r.dir, name)})
		}
	}
	if !r.common {
		return
	}
	if _, err := root.Lstat("hooks"); err != nil && g.cfg.Holds() && root.Mkdir("hooks", 0o755) == nil {
		s.made = append(s.made, filepath.Join(r.dir, "hooks"))
	}
	s.hooks(g, filepath.Join(r.dir, "hooks"))
	for _, name := range []string{attributes, "info/exclude"} {
		if _, err := root.Lstat(name); err == nil {
			s.hold(filepath.Join(r.dir, name), "")
		}
	}
	if _, err := root.Lstat(attributes); err == nil { // they choose among programs, also from the user's settings
		s.add(item{kind: placeItem, path: filepath.Join(r.dir, attributes), value: g.mark(root, r.dir, attributes)})
	}
}

// attributes is the attributes file of a repository, which is not committed.
const attributes = "info/attributes"

// mostHooks bounds the individually recorded files of a hooks folder.
const mostHooks = 2000

// hooks records a folder of hooks: its files, and the targets of its links.
func (s *Scene) hooks(g *Guard, dir string) {
	s.hold(dir, "")
	real, _, ok := fspath.Follow(dir)
	if s.leaves(dir) || !ok {
		return
	}
	root, err := open(real, s.roots)
	if errors.Is(err, fs.ErrPermission) {
		s.add(item{kind: cutItem, path: real})
	}
	if err != nil {
		return
	}
	defer root.Close() // only read
	entries, err := fs.ReadDir(listerOf(root), ".")
	if err != nil {
		s.add(item{kind: cutItem, path: real})
	}
	if len(entries) > mostHooks {
		s.add(item{kind: hookItem, path: real, value: g.mark(root, real, ".")})
	}
	for _, e := range entries[:min(len(entries), mostHooks)] {
		path := filepath.Join(real, e.Name())
		if strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		if e.Type()&fs.ModeSymlink != 0 {
			s.hold(path, "")
		}
		s.add(item{kind: hookItem, path: path, value: g.mark(root, real, e.Name())})
	}
}

// config records the settings of a file that run programs, and the files they name.
func (s *Scene) config(g *Guard, path string) {
	all, err := g.settings(path)
	if err != nil {
		s.add(item{kind: settingItem, path: path, value: "\x00" + err.Error()})
		return
	}
	if info, err := os.Lstat(path); err == nil && hasOtherName(info) {
		s.add(item{kind: settingItem, path: path, value: "\x00" + otherName})
	}
	for _, one := range all {
		if !one.runs() && !s.leavesWorkspace(one, filepath.Dir(path)) {
			continue
		}
		i := item{kind: settingItem, path: path, name: one.name, value: oneLine(one.value)}
		if before, ok := s.items[i.key()]; ok { // a setting may have several values
			i.value = before + "\n" + i.value
		}
		s.add(i)
		switch strings.ToLower(one.name) {
		case "core.hookspath":
			s.hooksAt(g, one.value, filepath.Dir(path))
		case "include.path":
			s.include(g, one.value, filepath.Dir(path), path)
		default:
			if strings.HasPrefix(strings.ToLower(one.name), "includeif.") {
				s.include(g, one.value, filepath.Dir(path), path)
			} else if !strings.HasPrefix(strings.ToLower(one.name), "alias.") && g.reviewed(i.key(), one.value) { // the user types an alias
				s.programs(g, one.value, filepath.Dir(path))
			}
		}
	}
}

// reviewed reports whether a setting counts as reviewed with this value, among others.
func (g *Guard) reviewed(key, value string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before, had := g.review.approved[key]
	return g.review.approved == nil || had && slices.Contains(strings.Split(before, "\n"), oneLine(value))
}

// settingsOfUser returns git's settings files for all repositories of the user.
func (c Config) settingsOfUser() []string {
	paths := []string{
		filepath.Join(c.Home, ".gitconfig"), filepath.Join(c.Home, ".config", "git", "config"),
	}
	for _, kv := range c.Environ {
		switch name, value, _ := strings.Cut(kv, "="); {
		case !filepath.IsAbs(value):
		case name == "XDG_CONFIG_HOME":
			paths = append(paths, filepath.Join(value, "git", "config"))
		case name == "GIT_CONFIG_GLOBAL", name == "GIT_CONFIG_SYSTEM":
			paths = append(paths, value)
		}
	}
	return paths
}

// global records the hooks and files named in the user's global settings.
func (s *Scene) global(g *Guard) {
	for _, path := range g.cfg.settingsOfUser() {
		all, _ := g.settings(path)
		for _, one := range all {
			switch name := strings.ToLower(one.name); {
			case name == "core.hookspath":
				s.hooksAt(g, one.value, "")
			case name == "include.path", strings.HasPrefix(name, "includeif."):
				s.include(g, one.value, filepath.Dir(path), path)
			}
		}
	}
}

// mostWords bounds the examined words of a setting.
const mostWords = 64

// separates reports whether a character ends a word of a shell, and quotes whether it
// surrounds words with spaces.
func separates(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("'\"`;&|()<>={}$", r) }
func quotes(r rune) bool    { return r == '\'' || r == '"' }

// programs records the files of the workspace run by a setting. git runs them in the working tree
// of the repository in dir.
func (s *Scene) programs(g *Guard, value, dir string) {
	words := append(strings.FieldsFunc(value, separates), strings.FieldsFunc(value, quotes)...)
	for _, top := range s.workTrees(dir) {
		for _, word := range words[:min(len(words), mostWords)] {
			if real, _, ok := fspath.Follow(word); !ok || !filepath.IsAbs(word) || real == "/" {
				word = top + "/" + word
			}
			real, _, ok := fspath.Follow(word)
			if s.leaves(word) || !ok || !fspath.UnderAny(real, s.roots) {
				continue
			}
			root, err := open(filepath.Dir(real), s.roots)
			if err != nil {
				continue
			}
			if info, err := root.Lstat(filepath.Base(real)); err == nil && info.Mode().IsRegular() {
				s.hold(word, "")
				s.add(item{kind: hookItem, path: real, value: g.mark(root, filepath.Dir(real), filepath.Base(real))})
			}
			root.Close() // only read
		}
	}
}

// workTrees lists the working folders of the repository in dir. If dir is empty, it lists all.
func (s *Scene) workTrees(dir string) (tops []string) {
	for _, e := range s.found.entries {
		shared, _, _ := fspath.Follow(e.dir)
		if dir == "" || shared == dir || fspath.Under(shared, filepath.Join(dir, "worktrees")) || fspath.Under(shared, filepath.Join(dir, "modules")) {
			tops = append(tops, filepath.Dir(e.path))
		}
	}
	return tops
}

// leavesWorkspace reports whether a setting has git write the files of a repository to a folder
// outside of the workspace.
func (s *Scene) leavesWorkspace(one setting, dir string) bool {
	if !strings.EqualFold(one.name, "core.worktree") {
		return false
	}
	path := one.value
	if !filepath.IsAbs(path) {
		path = dir + "/" + path
	}
	real, _, _ := fspath.Follow(path)
	return !fspath.UnderAny(real, s.roots)
}

// hooksAt records the folder in core.hooksPath for the repository in dir. It is relative to the
// worktree. If dir is empty, it is for all repositories.
func (s *Scene) hooksAt(g *Guard, value, dir string) {
	value = g.expand(value)
	if value == "" || strings.HasPrefix(value, "~") {
		return
	}
	if filepath.IsAbs(value) {
		s.hooks(g, value)
		return
	}
	for _, top := range s.workTrees(dir) {
		s.hooks(g, top+"/"+value)
	}
}

// expand puts the home in the place of "~" in a git setting.
func (g *Guard) expand(value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok && g.cfg.Home != "" {
		return g.cfg.Home + "/" + rest
	}
	return value
}

// include records a settings file included by another.
func (s *Scene) include(g *Guard, value, dir, from string) {
	value = g.expand(value)
	if value == "" || strings.HasPrefix(value, "~") {
		return
	}
	if !filepath.IsAbs(value) {
		value = dir + "/" + value // not cleaned: see follow
	}
	real, _, ok := fspath.Follow(value)
	if s.leaves(value) || !ok || real == from {
		return
	}
	if slices.ContainsFunc(s.readOnly, func(p place) bool { return p.path == real }) {
		return // an include cycle
	}
	s.hold(value, "")
	s.config(g, real)
}

// ours returns our own settings in a root, which are removed without a question.
func ours(root string) []string {
	return []string{filepath.Join(root, ".hermes", "config.yaml"), filepath.Join(root, ".hermes", ".env")}
}

// settings records a file or a folder that configures an editor, a shell or an agent.
func (s *Scene) settings(g *Guard, path, root string) {
	isPlace, byItself := settingsPlace(path)
	if !isPlace || inPlace(path, root) || slices.Contains(ours(root), path) {
		return
	}
	inRoot := filepath.Dir(path) == root
	if byItself && inRoot {
		s.hold(path, "")
	}
	if !inRoot && inDependencies(path, root) {
		return
	}
	top, err := open(filepath.Dir(path), s.roots)
	if err != nil {
		return
	}
	defer top.Close() // only read
	name := filepath.Base(path)
	if inRoot && name == ".hermes" {
		for _, file := range ours(root) {
			inner := name + "/" + filepath.Base(file)
			if _, err := top.Lstat(inner); err == nil {
				s.add(item{kind: ownItem, path: file, value: g.mark(top, root, inner)})
			}
		}
		if info, err := top.Lstat(name); err != nil || info.IsDir() {
			return // the walk finds its loaded files; the server writes the rest
		}
	}
	kind := orderItem
	if byItself {
		kind = placeItem
	}
	s.add(item{kind: kind, path: path, value: g.mark(top, filepath.Dir(path), name)})
}

// markLimit bounds the content of a marked file. In a folder, the first markFiles files are read.
// Of further files up to markStats, only size and change time count.
const (
	markLimit = 1 << 20
	markFiles = 5000
	markStats = 200_000
)

// mark returns a text that changes with the content and mode of a file or folder. root is the
// folder dir.
func (g *Guard) mark(root *os.Root, dir, name string) (value string) {
	info, err := root.Lstat(name)
	if err != nil {
		return ""
	}
	m := marking{g: g, sum: sha256.New(), seen: map[string]bool{}}
	text := ""
	if info.IsDir() {
		m.folder(root, dir, name)
		defer func() {
			if m.files <= markFiles {
				g.copies.folder(filepath.Join(dir, name), value, m.list)
			}
		}()
	} else if text = g.markFile(root, dir, name, info); !m.behind(filepath.Join(dir, name), info) {
		return text
	}
	return text + hex.EncodeToString(m.sum.Sum(nil))
}

// marking makes the mark of a folder, including folders behind its links.
type marking struct {
	g     *Guard
	sum   hash.Hash
	files int
	seen  map[string]bool
	list  []copied // the files
}

func (m *marking) folder(root *os.Root, dir, name string) {
	m.seen[filepath.Join(dir, name)] = true
	fs.WalkDir(listerOf(root), name, func(path string, d fs.DirEntry, err error) error { // unreadable files have no mark
		if m.files++; m.files > markStats {
			fmt.Fprint(m.sum, time.Now()) // it may have changed
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return nil
		}
		info, err := d.Info()
		switch {
		case err != nil:
		case m.files > markFiles && info.Mode().IsRegular():
			fmt.Fprintf(m.sum, "%s\x00%v %d %d\x00", path, info.Mode(), info.Size(), changeTime(info))
		default:
			mark := m.g.markFile(root, dir, path, info)
			fmt.Fprintf(m.sum, "%s\x00%s\x00", path, mark)
			m.list = append(m.list, copied{filepath.Join(dir, path), mark})
			m.behind(filepath.Join(dir, path), info)
		}
		return nil
	})
}

// behind adds the target folder of a link. If the target is no folder or was added before, it
// returns false.
func (m *marking) behind(link string, info fs.FileInfo) bool {
	if info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	real, info, root := m.g.behind(link)
	if root == nil {
		return false
	}
	defer root.Close() // only read
	if !info.IsDir() || m.seen[real] {
		return false
	}
	m.folder(root, filepath.Dir(real), filepath.Base(real))
	return true
}

func (g *Guard) markFile(root *os.Root, dir, name string, info fs.FileInfo) string {
	key := filepath.Join(dir, name)
	if info.Mode()&fs.ModeSymlink != 0 {
		target, _ := root.Readlink(name)
		text := "link " + target + " " + g.markTarget(key)
		g.copies.link(text, target)
		return text
	}
	g.mu.Lock()
	known, ok := g.marks[key]
	ok = ok && known.same(info) && g.review.lasts(info)
	g.mu.Unlock()
	if ok {
		return known.text
	}
	text := fmt.Sprintf("%v %d", info.Mode(), info.Size())
	switch {
	case info.Mode().IsRegular() && info.Size() <= markLimit:
		sum := sha256.New()
		if content, err := safefile.ReadIn(root, name, markLimit); err == nil {
			sum.Write(content) // never fails
			defer func() { g.copies.file(text, info.Mode(), content) }()
		}
		text = fmt.Sprintf("%v %x", info.Mode(), sum.Sum(nil)[:16])
	case info.Mode().IsRegular():
		text += fmt.Sprintf(" %d %d", changeTime(info), info.ModTime().UnixNano())
	}
	if info.Mode().IsRegular() && hasOtherName(info) {
		text += " " + otherName
	}
	if stampIsFinal(info) {
		g.mu.Lock()
		g.marks[key] = marked{info, text}
		g.mu.Unlock()
	}
	return text
}

// otherName is part of the mark of a file with several names. No mount holds the others.
const otherName = "has another name"

func hasOtherName(info fs.FileInfo) bool {
	_, names, known := safefile.Links(info)
	return known && names > 1
}

// markTarget returns the mark of a link's target. For a folder, and for a file no command can
// write, it is the path.
func (g *Guard) markTarget(link string) string {
	real, info, root := g.behind(link)
	if root == nil {
		return real
	}
	defer root.Close() // only read
	if !info.Mode().IsRegular() {
		return real
	}
	return real + " " + g.markFile(root, filepath.Dir(real), filepath.Base(real), info)
}

// behind returns the target of a link, and the folder around it. If no command can write there, or
// nothing is there, root is nil.
func (g *Guard) behind(link string) (real string, info fs.FileInfo, root *os.Root) {
	real, _, ok := fspath.Follow(link)
	roots := fspath.Existing(g.cfg.Roots())
	if !ok || !fspath.UnderAny(real, roots) {
		return real, nil, nil
	}
	root, err := open(filepath.Dir(real), roots)
	if err != nil {
		return real, nil, nil
	}
	if info, err = root.Lstat(filepath.Base(real)); err != nil {
		root.Close() // only read
		return real, nil, nil
	}
	return real, info, root
}

// marked is the mark of a file as it was.
type marked struct {
	info fs.FileInfo
	text string
}

func (m marked) same(info fs.FileInfo) bool {
	return m.info.Mode() == info.Mode() && m.info.Size() == info.Size() &&
		m.info.ModTime().Equal(info.ModTime()) && os.SameFile(m.info, info) && changeTime(m.info) == changeTime(info)
}

// clockStep is more than a step of the timestamp clock. If a file was changed more recently, its
// next change may keep the stamp.
const clockStep = 50 * time.Millisecond

// stampIsFinal reports whether a further change would give the file another stamp.
func stampIsFinal(info fs.FileInfo) bool {
	return time.Since(time.Unix(0, changeTime(info))) > clockStep
}

// lasts reports whether a file still has the content that was read when it had this change time. A program that
// has mapped the file into its memory can change it later without a new change time, but its first change sets
// one. So a file that was changed since the first of the running programs started is read again. It is called
// with the mutex.
func (r *review) lasts(info fs.FileInfo) bool {
	return r.running == 0 && r.since.IsZero() || r.unchanged(info)
}

// unchanged reports whether a file, or the entry of a folder, has not been changed since the first of the running
// programs started.
func (r *review) unchanged(info fs.FileInfo) bool {
	return time.Unix(0, changeTime(info)).Before(r.since.Add(-clockStep))
}
