package skills

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/trust"
)

//go:embed bundled/*/SKILL.md
var bundled embed.FS

// Library finds skills.
type Library struct {
	Home     string
	Folders  []string // of the workspace
	Created  string   // skills.create_dir, expanded; empty: none
	External []string // skills.external_dirs, expanded
	Disabled []string // names
	Bundled  bool
	Trust    trust.Store
	// Plugins are directories of plugins with skills, by the plugin's name.
	Plugins map[string]string
}

// Found are the skills of a library.
type Found struct {
	Skills  []*Skill // each name once, sorted by name
	LeftOut []*Skill // with their problem
	Notes   []string
}

// workspace directories for skills
var workspaceDirs = []string{".hermes/skills", ".agents/skills", ".claude/skills"}

// Loads returns the folders of a workspace from which skills are loaded.
func Loads() (all []string) {
	for _, dir := range workspaceDirs {
		all = append(all, dir+"/")
	}
	return all
}

const (
	maxSkills = 2000
	maxDepth  = 4
	maxDirs   = 20_000
	manyNew   = 100 // files, which leave megabytes of garbage when they are parsed
)

// notSearched are directories without skills.
var notSearched = []string{"node_modules", "venv", "references", "templates", "scripts", "assets", "examples", "site-packages", "__pycache__"}

// Find finds all skills. It reads only files changed since an earlier call of any process.
func (l Library) Find(ctx context.Context) Found {
	c := openCache(l.Home)
	w := newWalker(c)
	w.disabled = l.Disabled
	for _, dir := range TrustedDirs(l.Trust, l.Folders, workspaceDirs) {
		w.search(dir, Workspace, "")
	}
	own := filepath.Join(l.Home, "skills")
	w.search(own, User, "")
	if within := func(dir string) bool { return below(dir, l.Created) }; l.Created != "" && !within(own) && !slices.ContainsFunc(l.External, within) {
		w.search(l.Created, User, "")
	}
	for _, dir := range l.External {
		w.search(dir, External, "")
	}
	for plugin, dir := range l.Plugins {
		w.search(dir, Plugin, plugin+":")
	}
	if l.Bundled {
		w.addBundled()
	}
	c.save(ctx)
	if c.added > manyNew {
		debug.FreeOSMemory()
	}
	return w.sorted()
}

// sorted returns the walker's results.
func (w *walker) sorted() Found {
	slices.SortFunc(w.found.Skills, func(a, b *Skill) int { return cmp.Compare(a.Name, b.Name) })
	return w.found
}

// below reports whether path is dir or in it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// TrustedDirs returns the existing directories below trusted workspace folders and their git roots.
func TrustedDirs(store trust.Store, folders, names []string) (dirs []string) {
	for _, folder := range folders {
		if !store.Trusted(folder) {
			continue
		}
		dirs = append(dirs, OfferedDirs(folder, names)...)
	}
	return slices.Compact(dirs)
}

// OfferedDirs returns the existing directories below a folder and its git root, without links that
// leave them.
func OfferedDirs(folder string, names []string) (dirs []string) {
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	bases := []string{folder}
	if root, err := trust.Root(folder); err == nil && root != folder {
		bases = append(bases, root)
	}
	for _, base := range bases {
		real, err := filepath.EvalSymlinks(base)
		if err != nil {
			continue
		}
		for _, name := range names {
			dir, err := filepath.EvalSymlinks(filepath.Join(real, filepath.FromSlash(name)))
			if err != nil || slices.Contains(dirs, dir) {
				continue
			}
			if rel, err := filepath.Rel(real, dir); err == nil && filepath.IsLocal(rel) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

type walker struct {
	cache    *cache
	found    Found
	names    map[string]*Skill
	disabled []string
	dirs     int
	count    int
}

func newWalker(c *cache) *walker {
	return &walker{cache: c, names: make(map[string]*Skill, len(c.used))}
}

// search adds the skills below dir.
func (w *walker) search(dir, place, prefix string) { w.walk(dir, "", place, prefix, 0) }

// walk adds the skill in file, or the skills below dir. file is the SKILL.md of dir; empty: dir is
// no skill.
func (w *walker) walk(dir, file, place, prefix string, depth int) {
	if w.dirs++; w.dirs > maxDirs {
		return
	}
	if file != "" && w.add(file, dir, place, prefix) || depth >= maxDepth {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || slices.Contains(notSearched, name) {
			continue
		}
		file := filepath.Join(dir, name, "SKILL.md")
		sub := filepath.Dir(file) // shares its memory
		switch {
		case e.IsDir():
			w.walk(sub, file, place, prefix, depth+1)
		case e.Type()&fs.ModeSymlink != 0 && place != Workspace: // users link skills from elsewhere
			if info, err := os.Stat(sub); err == nil && info.IsDir() {
				w.walk(sub, file, place, prefix, depth+1)
			}
		}
	}
}

// add adds the skill in a file of dir. If there is no such file, or a link in a workspace, it returns false.
func (w *walker) add(file, dir, place, prefix string) bool {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		file = filepath.Join(dir, "skill.md")
		info, err = os.Lstat(file)
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && place == Workspace && !info.Mode().IsRegular() {
		return false
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = os.Stat(file)
	}
	if w.count++; w.count > maxSkills {
		if w.count == maxSkills+1 {
			w.found.Notes = append(w.found.Notes, fmt.Sprintf("There are more than %d skills. The others are not used.", maxSkills))
		}
		return true
	}
	var s *Skill
	if name := filepath.Base(dir); err != nil {
		s = &Skill{Name: name, Meta: w.cache.none, Problem: err.Error()}
	} else {
		s = w.cache.skill(file, name, info)
	}
	s.Name, s.Place, s.Path, s.Dir = prefix+s.Name, place, file, dir
	w.use(s)
	return true
}

func (w *walker) use(s *Skill) {
	if slices.Contains(w.disabled, s.Name) {
		return
	}
	if s.Problem != "" {
		w.found.LeftOut = append(w.found.LeftOut, s)
		return
	}
	if first, ok := w.names[s.Name]; ok {
		if first.Path == s.Path { // a configured directory is inside another
			return
		}
		s.Problem = "another skill of this name is used: " + first.Path
		w.found.LeftOut = append(w.found.LeftOut, s)
		note := fmt.Sprintf("There are two skills named %q. %s is not used.", s.Name, s.Path)
		if s.Place == Bundled { // its path alone does not identify its place
			note = fmt.Sprintf("There are two skills named %q. %s is used, %s in the program is not used.", s.Name, first.Path, s.Path)
		}
		w.found.Notes = append(w.found.Notes, note)
		return
	}
	w.names[s.Name] = s
	w.found.Skills = append(w.found.Skills, s)
}

func (w *walker) addBundled() {
	entries, _ := bundled.ReadDir("bundled")
	for _, e := range entries {
		w.use(bundledSkill(e.Name()))
	}
}

func bundledSkill(name string) *Skill {
	file := path.Join("bundled", name, "SKILL.md")
	data, err := bundled.ReadFile(file)
	s, _, problem := parse(data, name)
	if err = errors.Join(err, problem); err != nil {
		s.Problem = err.Error()
	}
	s.Place, s.Path = Bundled, file
	return &s
}

// Read returns the text of a skill after its frontmatter.
func (s *Skill) Read() (body string, err error) {
	var data []byte
	if s.Dir == "" {
		data, err = bundled.ReadFile(s.Path)
	} else {
		data, err = safefile.Read(s.Path, largestSkill)
	}
	if err != nil {
		return "", err
	}
	_, body, err = parse(data, s.Name)
	return strings.TrimSpace(body), err
}

// Offered returns the skills in a folder, trusted or not. It stores nothing.
func Offered(_ context.Context, folder string) []*Skill {
	w := newWalker(newCache())
	for _, dir := range OfferedDirs(folder, workspaceDirs) {
		w.search(dir, Workspace, "")
	}
	return w.sorted().Skills
}
