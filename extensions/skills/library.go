package skills

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/trust"
)

//go:embed bundled/*/SKILL.md
var bundled embed.FS

// Library finds skills.
type Library struct {
	Home     string
	Folders  []string // of the workspace
	External []string // skills.external_dirs, expanded
	Disabled []string // names
	Bundled  bool
	Trust    trust.Store
	// Plugins are directories of plugins with skills, by the plugin's name.
	Plugins map[string]string
}

// Found are the skills of a library.
type Found struct {
	Skills  []Skill // each name once, sorted by name
	LeftOut []Skill // with their problem
	Notes   []string
}

// names of the directories of a workspace that hold skills.
var workspaceDirs = []string{".hermes/skills", ".agents/skills", ".claude/skills"}

const (
	maxSkills = 2000
	maxDepth  = 4
	maxDirs   = 20_000
)

// notSearched are directories that hold no skills.
var notSearched = []string{"node_modules", "venv", "references", "templates", "scripts", "assets", "examples", "site-packages", "__pycache__"}

// Find finds all skills. It reads only files that have changed since an earlier call of any process.
func (l Library) Find(ctx context.Context) Found {
	c := openCache(l.Home)
	w := walker{cache: c, names: make(map[string]string, len(c.entries)), workspace: map[string]bool{}, disabled: l.Disabled}
	w.found.Skills = make([]Skill, 0, min(len(c.entries)+8, maxSkills)) // 8 are in the program
	for _, dir := range TrustedDirs(l.Trust, l.Folders, workspaceDirs) {
		w.search(dir, Workspace, "")
	}
	w.search(filepath.Join(l.Home, "skills"), User, "")
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
	slices.SortFunc(w.found.Skills, func(a, b Skill) int { return cmp.Compare(a.Name, b.Name) })
	return w.found
}

// TrustedDirs returns the directories below trusted workspace folders and their git roots that exist.
func TrustedDirs(store trust.Store, folders, names []string) (dirs []string) {
	for _, folder := range folders {
		if !store.Trusted(folder) {
			continue
		}
		dirs = append(dirs, OfferedDirs(folder, names)...)
	}
	return slices.Compact(dirs)
}

// OfferedDirs returns the directories below a folder and its git root that exist, without links that leave them.
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
	cache     *cache
	found     Found
	names     map[string]string // the path of each skill by its name
	workspace map[string]bool   // names of skills of the workspace
	disabled  []string
	dirs      int
	count     int
}

// search adds the skills below dir.
func (w *walker) search(dir, place, prefix string) { w.walk(dir, place, prefix, 0) }

func (w *walker) walk(dir, place, prefix string, depth int) {
	if w.dirs++; w.dirs > maxDirs {
		return
	}
	if depth > 0 && w.add(filepath.Join(dir, "SKILL.md"), place, prefix) || depth >= maxDepth {
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
		sub := filepath.Join(dir, name)
		switch {
		case e.IsDir():
			w.walk(sub, place, prefix, depth+1)
		case e.Type()&fs.ModeSymlink != 0 && place != Workspace: // users link skills from elsewhere
			if info, err := os.Stat(sub); err == nil && info.IsDir() {
				w.walk(sub, place, prefix, depth+1)
			}
		}
	}
}

// add adds the skill in a file. If there is no such file, or a link in a workspace, it returns false.
func (w *walker) add(file, place, prefix string) bool {
	info, err := os.Lstat(file)
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
	dir := filepath.Dir(file)
	s := Skill{Name: filepath.Base(dir), Meta: &w.cache.none}
	if err != nil {
		s.Problem = err.Error()
	} else {
		s = w.cache.skill(file, s.Name, info)
	}
	s.Name, s.Place, s.Path, s.Dir = prefix+s.Name, place, file, dir
	w.use(s)
	return true
}

func (w *walker) use(s Skill) {
	if slices.Contains(w.disabled, s.Name) {
		return
	}
	if s.Problem != "" {
		w.found.LeftOut = append(w.found.LeftOut, s)
		return
	}
	if first, ok := w.names[s.Name]; ok {
		s.Problem = "another skill of this name is used: " + first
		w.found.LeftOut = append(w.found.LeftOut, s)
		switch {
		case s.Place != Bundled:
			w.found.Notes = append(w.found.Notes, fmt.Sprintf("There are two skills named %q. %s is not used.", s.Name, s.Path))
		case w.workspace[s.Name]:
			w.found.Notes = append(w.found.Notes, fmt.Sprintf("The skill %q of this workspace is used in place of that of the program: %s", s.Name, first))
		}
		return
	}
	w.names[s.Name] = s.Path
	if s.Place == Workspace {
		w.workspace[s.Name] = true
	}
	w.found.Skills = append(w.found.Skills, s)
}

func (w *walker) addBundled() {
	entries, _ := bundled.ReadDir("bundled")
	for _, e := range entries {
		s := bundledSkill(e.Name())
		w.use(s)
	}
}

func bundledSkill(name string) Skill {
	file := path.Join("bundled", name, "SKILL.md")
	data, err := bundled.ReadFile(file)
	s, _, problem := parse(data, name)
	if err = errors.Join(err, problem); err != nil {
		s.Problem = err.Error()
	}
	s.Place, s.Path = Bundled, file
	return s
}

// Read returns the text of a skill after its frontmatter.
func (s Skill) Read() (body string, err error) {
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

// cache has the frontmatters of earlier calls. The file is below $HERMES_HOME/cache.
type cache struct {
	path    string
	entries map[string]*cached
	changed bool
	none    Meta // of skills with an empty one
}

type cached struct {
	Time  int64  `json:"t"`
	Size  int64  `json:"s"`
	Name  string `json:"n"`
	Text  string `json:"d"`
	Error string `json:"e,omitempty"`
	Meta  *Meta  `json:"m,omitempty"`

	used bool
}

const cacheVersion = "skills-4.json"

// newCache returns an empty cache, which is not stored.
func newCache() *cache { return &cache{entries: map[string]*cached{}} }

func openCache(home string) *cache {
	c := newCache()
	c.path = filepath.Join(home, "cache", cacheVersion)
	if data, err := safefile.Read(c.path, 16<<20); err == nil {
		_ = json.Unmarshal(data, &c.entries) // a broken cache is made again
	}
	return c
}

// skill returns the skill in a file, from the cache if the file has not changed.
func (c *cache) skill(file, dir string, info fs.FileInfo) Skill {
	e := c.entries[file]
	if e == nil || e.Time != info.ModTime().UnixNano() || e.Size != info.Size() {
		e = c.read(file, dir)
		e.Time, e.Size = info.ModTime().UnixNano(), info.Size()
		c.entries[file], c.changed = e, true
	}
	e.used = true
	return Skill{Name: e.Name, Description: e.Text, Problem: e.Error, Meta: cmp.Or(e.Meta, &c.none)}
}

func (c *cache) read(file, dir string) *cached {
	data, err := safefile.Read(file, largestSkill)
	if err != nil {
		return &cached{Name: dir, Error: "it cannot be read: " + err.Error()}
	}
	s, _, err := parse(data, dir)
	e := &cached{Name: dir, Text: s.Description}
	if err != nil {
		e.Error = err.Error()
	}
	if m, _ := json.Marshal(s.Meta); string(m) != "{}" {
		e.Meta = s.Meta
	}
	return e
}

// save stores the entries that were used, if one is new. If it fails, the next process reads the files again.
func (c *cache) save(ctx context.Context) {
	if !c.changed {
		return
	}
	unlock, err := filelock.Lock(ctx, c.path+".lock")
	if err != nil {
		return
	}
	defer unlock()
	for file, e := range c.entries { // those of other workspaces
		if e == nil || !e.used && len(c.entries) > 2*maxSkills {
			delete(c.entries, file)
		}
	}
	data, err := json.Marshal(c.entries)
	if err != nil {
		return
	}
	dir, err := safefile.OpenFolder(filepath.Dir(c.path))
	if err != nil {
		return
	}
	defer dir.Close() //nolint:errcheck // only read
	_ = dir.Write(filepath.Base(c.path), data, 0o600)
}

// Offered returns the skills that a folder brings, whether the user trusts it or not. It stores nothing.
func Offered(_ context.Context, folder string) []Skill {
	w := walker{cache: newCache(), names: map[string]string{}, workspace: map[string]bool{}}
	for _, dir := range OfferedDirs(folder, workspaceDirs) {
		w.search(dir, Workspace, "")
	}
	slices.SortFunc(w.found.Skills, func(a, b Skill) int { return cmp.Compare(a.Name, b.Name) })
	return w.found.Skills
}
