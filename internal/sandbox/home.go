package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/gitguard"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

// homeView lists all paths of a home visible to commands. Paths are absolute and resolved, except
// the keys of links.
type homeView struct {
	home    string            // empty: it is not hidden
	hidden  []string          // homes of others, of which nothing is there
	visible []string          // read-only
	roots   []string          // the workspace
	entries []string          // writable, because the home is the workspace
	links   map[string]string // existing links of the home, and where they lead
	files   []settingsFile    // copied into the home's stand-in
	inTools []settingsFile    // in visible folders: a copy replaces a dirty file
	caches  []cacheFolder
	secrets []string // places of secrets, in the home and elsewhere
}

// settingsFile is a file of settings.
type settingsFile struct {
	name  string // in the home
	path  string
	text  []byte // without values resembling secrets
	dirty bool   // there was something
}

// clean returns the settings without secrets and dirty the settings with secrets, for mechanisms
// that cannot replace a file by a copy.
func (v *homeView) clean() []string { return v.settingsThat(false) }
func (v *homeView) dirty() []string { return v.settingsThat(true) }

func (v *homeView) settingsThat(dirty bool) (paths []string) {
	for _, f := range slices.Concat(v.files, v.inTools) {
		if f.dirty == dirty {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// viewAge is how old a view may be. Until then, later installations are not visible, and new
// secrets in a visible folder are not hidden.
const viewAge = 10 * time.Second

// views keeps the view of a box.
type views struct {
	home, hermesHome string
	environ          []string
	path             func() string // PATH of commands now; nil: PATH of environ

	mu       sync.Mutex
	key      string
	at       time.Time
	view     *homeView
	read     []string        // further visible paths
	programs []string        // started for commands, by path
	has      map[string]bool // result of each search in PATH
}

// setRead replaces the further visible paths.
func (v *views) setRead(paths []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.read, v.view = paths, nil
}

// readable returns the further visible paths.
func (v *views) readable() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.read
}

// now returns the view of the home, for these roots.
func (v *views) now(roots []string) *homeView {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := strings.Join(roots, "\x00")
	if v.path != nil {
		if path := v.path(); path != "" {
			key += "\x00\x00" + path
			if path != variable(v.environ, "PATH", "") {
				v.environ, v.has = userpath.With(v.environ, path), nil
			}
		}
	}
	if v.view == nil || v.key != key || time.Since(v.at) > viewAge {
		v.view, v.key, v.at = v.look(roots), key, time.Now()
	}
	return v.view
}

// starts makes a command's program visible if it lies in a home.
func (v *views) starts(program string) {
	if !filepath.IsAbs(program) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if fspath.Under(program, v.home) && !slices.Contains(v.programs, program) {
		v.programs, v.view = append(v.programs, program), nil
	}
}

// startsAll makes the program of a command, and the files that it runs, visible if they lie in a
// home. It returns them. Files of the Hermes home stay hidden.
func (v *views) startsAll(c *proc.Cmd) (programs []string) {
	if len(c.Args) > 0 {
		programs = append(programs, c.Args[0])
	}
	for _, file := range c.Runs {
		if !fspath.Under(file, v.hermesHome) {
			programs = append(programs, file)
		}
	}
	for _, program := range programs {
		v.starts(program)
	}
	return programs
}

// look makes a view. v.mu is held.
func (v *views) look(roots []string) *homeView {
	roots = fspath.Existing(roots)
	view := &homeView{roots: roots, links: map[string]string{}, secrets: unreadable(v.home, v.hermesHome, v.environ)}
	view.hidden = otherHomes(v.home, roots)
	home := fspath.Real(v.home)
	if !hideable(home) {
		view.caches = v.cacheFolders(home, roots)
		return view
	}
	view.home = home
	for _, root := range roots {
		if fspath.Under(home, root) {
			view.entries = append(view.entries, view.own(home)...)
		}
	}
	s := search{view: view, home: home, roots: roots}
	s.tools(v.environ)
	s.programs(v.programs)
	s.settings()
	for _, path := range v.read {
		s.add(fspath.Expand(path, home))
	}
	view.caches = v.cacheFolders(home, roots)
	elsewhere := slices.Clone(roots) // handled separately
	for _, c := range view.caches {
		s.link(c.named)
		if !c.missing {
			elsewhere = append(elsewhere, c.path)
		}
	}
	view.visible = outermost(view.visible, elsewhere)
	return view
}

// systemFolders hold files needed by every program. A home is not hidden if it is or contains such
// a folder.
var systemFolders = []string{"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/var", "/nix", "/dev", "/proc", "/sys", "/srv", "/System", "/Library"}

// hideable reports whether a home can be hidden. The home of some services is / or lies among
// programs.
func hideable(home string) bool {
	if !filepath.IsAbs(home) || home == "/" {
		return false
	}
	if info, err := os.Stat(home); err != nil || !info.IsDir() {
		return false
	}
	for _, dir := range systemFolders {
		if fspath.Under(dir, home) || dir != "/var" && dir != "/opt" && dir != "/srv" && fspath.Under(home, dir) {
			return false
		}
	}
	return true
}

// otherHomes lists the homes of other users; /home stands for all homes in it. In a home around a
// root, only the root stays visible.
func otherHomes(home string, roots []string) (hidden []string) {
	if runtime.GOOS != "linux" {
		return nil
	}
	for _, dir := range []string{"/home", "/root"} {
		dir := fspath.Real(dir)
		if dir == "/root" && os.Geteuid() != 0 || dir == fspath.Real(home) || !hideable(dir) {
			continue
		}
		if !slices.ContainsFunc(roots, func(root string) bool { return fspath.Under(dir, root) }) {
			hidden = append(hidden, dir)
		}
	}
	return hidden
}

// closed lists entries of a home with programs or settings whose names do not begin with a dot.
var closed = []string{"bin", "sbin", "Library", "Applications", "_netrc", "_vimrc", "go", "snap"}

// entriesLimit bounds the entries of a home opened as the workspace.
const entriesLimit = 400

// own returns the entries of a home that commands may write if it is the workspace. Entries whose
// names begin with a dot are left out: they configure or run something. They cannot all be listed,
// and a command could make missing ones. So nothing can be made in the home itself.
func (v *homeView) own(home string) (entries []string) {
	found, _ := os.ReadDir(home)
	for _, e := range found {
		name := e.Name()
		if name != ".git" && (name[0] == '.' || slices.Contains(closed, name)) || len(entries) == entriesLimit {
			continue
		}
		path := filepath.Join(home, name)
		switch {
		case e.Type()&os.ModeSymlink != 0:
			v.links[path] = fspath.Real(path)
		case e.IsDir(), e.Type().IsRegular():
			entries = append(entries, path)
		}
	}
	return entries
}

// outermost leaves out paths inside another path or a root.
func outermost(paths, roots []string) (kept []string) {
	slices.Sort(paths)
	for _, path := range paths {
		if !fspath.UnderAny(path, kept) && !fspath.UnderAny(path, roots) {
			kept = append(kept, path)
		}
	}
	return kept
}

// search fills a view.
type search struct {
	view  *homeView
	home  string
	roots []string
}

// add shows a file or folder, and the target of a link on the way to it.
func (s *search) add(path string) {
	if !filepath.IsAbs(path) {
		return
	}
	path = filepath.Clean(path)
	found, err := filepath.EvalSymlinks(path)
	if err != nil || fspath.Under(s.home, found) || found == filepath.Join(s.home, ".local") || found == filepath.Join(s.home, ".config") {
		return
	}
	s.link(path)
	s.view.visible = append(s.view.visible, found)
}

// link remembers the first link of the home on the way to a path.
func (s *search) link(path string) {
	rel, err := filepath.Rel(s.home, path)
	if err != nil || !filepath.IsLocal(rel) {
		return
	}
	at := s.home
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err != nil {
			return
		}
		if info.Mode()&os.ModeSymlink != 0 {
			s.view.links[at] = fspath.Real(at)
			return
		}
	}
}

// tools shows the folders of known tools, and the folders named in the environment.
func (s *search) tools(environ []string) {
	for _, name := range toolFolders {
		s.add(filepath.Join(s.home, name))
	}
	s.add("/home/linuxbrew/.linuxbrew")
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH":
			for _, dir := range filepath.SplitList(value) {
				s.programFolder(dir)
			}
		case slices.Contains(folderVariables, name):
			for _, dir := range filepath.SplitList(value) {
				if s.inHome(dir) {
					s.add(dir)
				}
			}
		}
	}
	for _, root := range s.roots {
		s.environment(root)
		if dir := gitguard.Enclosing(root); dir != "" {
			s.add(filepath.Dir(dir)) // the repository around the root
		}
	}
}

// inHome reports whether a path lies in the home, or in another hidden home.
func (s *search) inHome(path string) bool {
	path = filepath.Clean(path)
	return filepath.IsAbs(path) && (fspath.Under(path, s.home) && path != s.home || fspath.UnderAny(path, s.view.hidden))
}

// linksLimit bounds the links of one program folder that are resolved.
const linksLimit = 500

// programFolder shows a folder of PATH, with the data of its programs.
func (s *search) programFolder(dir string) {
	if !s.inHome(dir) {
		return
	}
	s.add(s.installed(dir))
	entries, _ := os.ReadDir(dir)
	for _, e := range entries[:min(len(entries), linksLimit)] {
		if e.Type()&os.ModeSymlink != 0 {
			s.program(filepath.Join(dir, e.Name()))
		}
	}
}

// programs shows the programs started for commands.
func (s *search) programs(paths []string) {
	for _, path := range paths {
		s.add(s.installed(filepath.Dir(path)))
		s.program(path)
	}
	if self, err := os.Executable(); err == nil && s.inHome(self) {
		s.add(self) // bubblewrap starts it inside
	}
}

// program shows the folder of a program, which may be a link.
func (s *search) program(path string) {
	found, err := filepath.EvalSymlinks(path)
	if err != nil || !s.inHome(found) || fspath.UnderAny(found, s.view.visible) {
		return
	}
	if info, err := os.Stat(found); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		s.add(s.installed(filepath.Dir(found)))
	}
}

// installed returns the installation, with its libraries, around a folder of programs.
func (s *search) installed(dir string) string {
	switch filepath.Base(dir) {
	case "bin", "sbin", ".bin", "Scripts", "shims":
	default:
		return dir
	}
	around := filepath.Dir(dir)
	for _, wide := range []string{"", ".local", ".config", ".local/share", "go"} {
		if fspath.Real(around) == filepath.Join(s.home, wide) {
			return dir
		}
	}
	if !s.inHome(around) || slices.Contains(s.view.hidden, around) || filepath.Dir(around) == "/home" ||
		slices.ContainsFunc(s.roots, func(root string) bool { return fspath.Under(root, around) }) {
		return dir
	}
	return around
}

// environment shows the interpreter of a root's virtual environment. The link is the repository's:
// it must lead to a file resembling an interpreter.
func (s *search) environment(root string) {
	for _, name := range []string{".venv", "venv", "env"} {
		found, err := filepath.EvalSymlinks(filepath.Join(root, name, "bin", "python"))
		if err != nil || !s.inHome(found) || !strings.HasPrefix(filepath.Base(found), "python3") {
			continue
		}
		dir := s.installed(filepath.Dir(found))
		if libs, _ := filepath.Glob(filepath.Join(dir, "lib", "python3*")); len(libs) > 0 {
			s.add(dir)
		}
	}
}

// settings reads the existing settings files.
func (s *search) settings() {
	s.view.files = s.read(append(slices.Clone(settingsFiles), s.gitFiles()...))
	s.view.inTools = s.read(toolSettings)
}

func (s *search) read(names []string) (files []settingsFile) {
	for _, name := range names {
		path := filepath.Join(s.home, name)
		text, err := safefile.Read(path, safefile.Settings)
		if err != nil {
			if info, err := os.Stat(path); err == nil && info.IsDir() && !slices.Contains(settingsFiles, name) {
				s.add(path) // a folder of hooks or templates
			}
			continue
		}
		f := settingsFile{name: name, path: fspath.Real(path)}
		f.text, f.dirty = withoutSecrets(text)
		files = append(files, f)
	}
	return files
}

// notFound lists the error texts of programs for a missing or unreadable file.
var notFound = []string{"o such file", "not found", "not exist", "ENOENT", "Permission denied", "cannot find"}

// missed returns a hidden path of the home that was not found according to a command's output. It
// does not matter whether the path exists. If there is none, it returns "". Names beginning with a
// dot are ignored: programs look for many of them.
func (v *homeView) missed(output string) string {
	if v.home == "" || !slices.ContainsFunc(notFound, func(sign string) bool { return strings.Contains(output, sign) }) {
		return ""
	}
	for line := range strings.Lines(output) {
		_, rest, ok := strings.Cut(line, v.home+"/")
		if !ok || !slices.ContainsFunc(notFound, func(sign string) bool { return strings.Contains(line, sign) }) {
			continue
		}
		end := strings.IndexAny(rest, " \t\n\"'`:,;()")
		path := filepath.Join(v.home, rest[:max(end, 0)])
		if strings.HasPrefix(rest, ".") || path == v.home || v.shows(path) {
			continue
		}
		return path
	}
	return ""
}

// shows reports whether commands see a path of the home.
func (v *homeView) shows(path string) bool {
	for _, c := range v.caches {
		if fspath.Under(path, c.path) {
			return true
		}
	}
	return fspath.UnderAny(path, v.visible) || fspath.UnderAny(path, v.entries) || fspath.UnderAny(path, v.roots)
}

// hide hides the homes, except for the paths of the view, the places of secrets in these, and
// sockets.
func (p *Policy) hide(v *homeView, sockets []string) {
	p.view = v
	opened := slices.Clone(p.Roots) // the user has opened just these
	if len(v.entries) > 0 {
		p.Roots = slices.DeleteFunc(slices.Clone(p.Roots), func(root string) bool { return fspath.Real(root) == v.home })
		if p.Mode == WorkspaceWrite {
			p.Writable = append(p.Writable, v.entries...)
		} else {
			p.Visible = append(p.Visible, v.entries...)
		}
	}
	p.Visible = append(p.Visible, v.visible...)
	shown := p.resolver().Existing(slices.Concat(p.Roots, p.Writable, p.Visible))
	for _, c := range v.caches {
		shown = append(shown, c.path)
	}
	homes := v.hidden
	if v.home != "" {
		homes = append(slices.Clone(homes), v.home)
	}
	p.Unreadable = append(p.Unreadable, v.hidden...)
	for _, path := range slices.Concat(v.secrets, sockets) {
		if !slices.Contains(opened, path) && (!fspath.UnderAny(path, homes) || fspath.UnderAny(path, shown)) {
			p.Unreadable = append(p.Unreadable, path)
		}
	}
}

// homesAmong returns the roots that are users' homes.
func homesAmong(roots []string) (homes []string) {
	for _, root := range roots {
		if filepath.Dir(root) == "/home" || root == "/root" || filepath.Dir(root) == "/Users" {
			homes = append(homes, root)
		}
	}
	return homes
}
