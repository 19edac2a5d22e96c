package codeexec

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// project holds the parts of a folder's files that name an interpreter or a version.
type project struct {
	search  Search
	folder  string
	home    string
	project pyproject
}

// pyproject is the used part of pyproject.toml.
type pyproject struct {
	Project struct {
		Name     string
		Requires string `toml:"requires-python"`
	}
	Tool struct {
		Poetry *struct {
			Name         string
			Dependencies map[string]any
		}
	}
}

func readProject(s Search, folder string) project {
	p := project{search: s, folder: folder, home: lookup(s.Environ, "HOME")}
	if data, err := textfile.ReadBelow(folder, "pyproject.toml", safefile.Settings); err == nil {
		_, _ = toml.Decode(string(data), &p.project) // the fields before a mistake are used
	}
	return p
}

// file returns the text of a file of the project. If there is none, it returns "".
func (p project) file(name string) string {
	data, err := textfile.ReadBelow(p.folder, name, safefile.Settings)
	if err != nil {
		return ""
	}
	return string(data)
}

// directory returns the first of these variables with an absolute path. If there is none, it
// returns the path in the home directory.
func (p project) directory(inHome string, names ...string) string {
	for _, name := range names {
		if dir := lookup(p.search.Environ, name); filepath.IsAbs(dir) {
			return dir
		}
	}
	return filepath.Join(p.home, inHome)
}

// environments returns environments with unusual names that tools keep for the folder.
func (p project) environments() (list []candidate) {
	add := func(dir, why, missing string) {
		if missing != "" {
			missing = why + ": " + missing
		}
		list = append(list, candidate{inEnvironment(dir), why, missing, ""})
	}
	if name := firstLine(p.folder, ".venv"); name != "" { // a file in place of the directory
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.directory(".virtualenvs", "WORKON_HOME"), name)
		}
		add(name, "named in the file .venv", name+" has no interpreter")
		list[len(list)-1].named = ".venv"
	}
	for _, pattern := range []string{".pixi/envs/default", ".direnv/python-*", "*/pyvenv.cfg", ".*/pyvenv.cfg"} {
		found, _ := filepath.Glob(filepath.Join(globSafe(p.folder), pattern)) // the pattern is right
		for _, dir := range found {
			dir = strings.TrimSuffix(dir, string(filepath.Separator)+"pyvenv.cfg")
			add(dir, "the workspace's "+strings.TrimPrefix(dir, p.folder+string(filepath.Separator)), "")
		}
	}
	for _, dir := range p.outside() {
		add(dir.path, dir.why, "")
	}
	return append(list, p.named()...)
}

// outside returns environments of Poetry, Pipenv and Hatch outside the folder.
func (p project) outside() (list []candidate) {
	caches, data := ".cache", ".local/share"
	if runtime.GOOS == "darwin" {
		caches, data = "Library/Caches", "Library/Application Support"
	}
	short := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return base64.URLEncoding.EncodeToString(sum[:])[:8]
	}
	name := p.project.Project.Name
	if poetry := p.project.Tool.Poetry; poetry != nil && name == "" {
		name = poetry.Name
	}
	if p.project.Tool.Poetry != nil || p.file("poetry.lock") != "" {
		base := p.directory(caches+"/pypoetry/virtualenvs", "POETRY_VIRTUALENVS_PATH")
		if cache := lookup(p.search.Environ, "POETRY_CACHE_DIR"); filepath.IsAbs(cache) && lookup(p.search.Environ, "POETRY_VIRTUALENVS_PATH") == "" {
			base = filepath.Join(cache, "virtualenvs")
		}
		list = append(list, newest(base, plainName(strings.ToLower(name))+"-"+short(p.folder)+"-py*", "Poetry's environment")...)
	}
	if p.file("Pipfile") != "" {
		base := p.directory(".local/share/virtualenvs", "WORKON_HOME")
		list = append(list, newest(base, plainName(filepath.Base(p.folder))+"-"+short(filepath.Join(p.folder, "Pipfile"))+"*", "Pipenv's environment")...)
	}
	if name != "" {
		base := filepath.Join(p.directory(data+"/hatch", "HATCH_DATA_DIR"), "env", "virtual", hyphens(name), short(p.folder))
		list = append(list, newest(base, hyphens(name), "Hatch's environment")...)
		list = append(list, newest(base, "default", "Hatch's environment")...)
	}
	return list
}

var (
	notPlain  = lazyregexp.New("[ $`!*@\"()\\\\\r\n\t]")
	separator = lazyregexp.New(`[-_.]+`)
)

// plainName is the name of a project in the directory of its environment.
func plainName(name string) string {
	name = string(notPlain.ReplaceAll([]byte(name), []byte("_")))
	return name[:min(len(name), 42)]
}

func hyphens(name string) string {
	return strings.ToLower(string(separator.ReplaceAll([]byte(name), []byte("-"))))
}

// newest returns the directories below base that match a pattern, newest version first.
func newest(base, pattern, why string) (list []candidate) {
	found, _ := filepath.Glob(filepath.Join(globSafe(base), strings.NewReplacer("[", "\\[", "?", "\\?").Replace(pattern))) // a wrong pattern finds none
	slices.SortFunc(found, newer)
	for _, dir := range found {
		list = append(list, candidate{path: dir, why: why + " " + filepath.Base(dir)})
	}
	return list
}

func globSafe(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// condaRoots are the usual directories of conda and its relatives, in the home directory or absolute.
var condaRoots = []string{"miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda", "/opt/conda", "/opt/miniconda3", "/opt/miniforge3", "/opt/homebrew/Caskroom/miniconda/base"}

// unusual reports whether only a file of the workspace names the interpreter's location: it is
// neither in the workspace nor where the system, the user's PATH or a known tool keeps
// interpreters.
func (s Search) unusual(c candidate) bool {
	if c.named == "" || program.In(c.path, s.Folders) {
		return false
	}
	p := project{search: s, home: lookup(s.Environ, "HOME")}
	roots := append(s.path(), "/usr", "/opt", "/nix/store", "/Library", "/Applications", "/System", "/home/linuxbrew",
		p.directory(".virtualenvs", "WORKON_HOME"), p.directory(".local/share/uv", "UV_PYTHON_INSTALL_DIR"), p.directory(".local/share/mise", "MISE_DATA_DIR"),
		p.directory(".asdf", "ASDF_DATA_DIR"), p.directory(".rye", "RYE_HOME"), p.directory(".pyenv", "PYENV_ROOT"), p.directory("micromamba", "MAMBA_ROOT_PREFIX"),
		p.directory(".cache/pypoetry", "POETRY_CACHE_DIR"), p.directory(".local/share/hatch", "HATCH_DATA_DIR"))
	for _, inHome := range append([]string{".local/share/virtualenvs", ".local/share/pdm", ".local/share/pypoetry", "Library/Caches/pypoetry",
		"Library/Application Support", ".conda"}, condaRoots...) {
		if roots = append(roots, inHome); !filepath.IsAbs(inHome) {
			roots[len(roots)-1] = filepath.Join(p.home, inHome)
		}
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_ROOT", "CONDA_ENVS_PATH", "CONDA_ENVS_DIRS", "POETRY_VIRTUALENVS_PATH"} {
		roots = append(roots, filepath.SplitList(lookup(s.Environ, name))...)
	}
	return !slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, c.path)
		return filepath.IsAbs(root) && err == nil && filepath.IsLocal(rel)
	})
}

// named returns the interpreters named by the folder's files: a conda environment, or a path in
// editor settings.
func (p project) named() (list []candidate) {
	for _, name := range []string{"environment.yml", "environment.yaml"} {
		var env struct{ Name, Prefix string }
		if text := p.file(name); text == "" || yaml.Unmarshal([]byte(text), &env) != nil {
			continue
		}
		if filepath.IsAbs(env.Prefix) && isFile(inEnvironment(env.Prefix)) {
			list = append(list, candidate{inEnvironment(env.Prefix), "the conda environment of " + name, "", name})
		}
		if env.Name != "" && env.Name != "base" && !strings.ContainsAny(env.Name, `/\`) {
			list = append(list, p.conda(env.Name, name))
		}
	}
	for _, file := range []string{".vscode/settings.json", ".devcontainer/devcontainer.json", ".devcontainer.json"} {
		for _, m := range interpreterPath.FindAllStringSubmatch(string(textfile.PlainJSON([]byte(p.file(file)))), 5) {
			var path string
			if json.Unmarshal([]byte(m[1]), &path) != nil {
				continue
			}
			path = p.search.expand(strings.ReplaceAll(path, "${containerWorkspaceFolder}", p.folder))
			if !filepath.IsAbs(path) && strings.ContainsAny(path, `/\`) {
				path = filepath.Join(p.folder, path)
			}
			if filepath.IsAbs(path) && strings.Contains(filepath.Base(path), "python") {
				list = append(list, candidate{path, "named in " + file, path + ", named in " + file + ", does not exist", file})
			}
		}
	}
	return list
}

var interpreterPath = lazyregexp.New(`"python\.(?:defaultInterpreterPath|pythonPath)"\s*:\s*("(?:[^"\\]|\\.)*")`)

// conda returns the interpreter of a named environment. If there is none, the candidate reports
// this.
func (p project) conda(name, file string) candidate {
	var dirs []string
	for _, variable := range []string{"CONDA_ENVS_PATH", "CONDA_ENVS_DIRS"} {
		dirs = append(dirs, filepath.SplitList(lookup(p.search.Environ, variable))...)
	}
	for _, root := range append([]string{lookup(p.search.Environ, "MAMBA_ROOT_PREFIX"), lookup(p.search.Environ, "CONDA_ROOT")}, condaRoots...) {
		if root != "" && !filepath.IsAbs(root) {
			root = filepath.Join(p.home, root)
		}
		if root != "" {
			dirs = append(dirs, filepath.Join(root, "envs"))
		}
	}
	why := "the conda environment " + name + " of " + file
	for _, dir := range dirs {
		if path := inEnvironment(filepath.Join(dir, name)); isFile(path) {
			return candidate{path, why, "", ""}
		}
	}
	return candidate{"", why, why + " was not found", ""}
}
