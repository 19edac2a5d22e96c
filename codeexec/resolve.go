package codeexec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// Python is a successfully probed interpreter.
type Python struct {
	Path    string   // absolute
	Version string   // "3.12.1"
	Why     string   // the reason for the choice, such as "the workspace's .venv"
	Prefix  string   // of a virtual environment or conda; empty: neither
	Conda   bool     // Prefix is conda's
	Passed  []string // earlier candidates and why they do not work
}

// Search configures where Find looks for an interpreter.
type Search struct {
	Configured string   // code_execution.python, or the selection in the editor
	Folders    []string // workspace folders, absolute; the main folder is first
	Environ    []string // VIRTUAL_ENV, CONDA_PREFIX, PATH, … are looked up here
	Strict     bool     // only python3 from PATH
	// Confine sets the limits and the sandbox of a probed interpreter, which may be in the
	// workspace. If it returns an error, the interpreter must not start. Nil: no limits.
	Confine func(context.Context, *proc.Cmd) error
	// Allow is called before an interpreter in the workspace starts, or an interpreter that only a
	// file of the workspace names. If it returns an error, the interpreter must not start. Nil:
	// interpreters in the workspace may start.
	Allow func(ctx context.Context, path string) error
}

// candidate is a path where an interpreter may be.
type candidate struct {
	path string
	why  string
	// missing is the message if there is no such file. Empty: the file is not expected.
	missing string
	// named is the file of the workspace that names the path. Empty: none does.
	named string
}

// Find returns the first working interpreter in search order. If none works, the error lists the
// candidates.
func (p *Pythons) Find(ctx context.Context, s Search) (Python, error) {
	var passed []string
	var other *Python // works, but not in the version requested by the project
	demands := s.demands()
	list, own := s.candidates()
	for n, c := range list {
		if !isFile(c.path) {
			if c.missing != "" {
				passed = append(passed, c.missing)
			}
			continue
		}
		if s.unusual(c) && s.Allow == nil {
			passed = append(passed, fmt.Sprintf("%s was not started, because only %s of the workspace names it; set code_execution.python to use it", c.path, c.named))
			continue
		}
		if s.Allow != nil && (s.unusual(c) || program.In(c.path, s.Folders)) {
			if err := s.Allow(ctx, c.path); err != nil && ctx.Err() == nil {
				passed = append(passed, fmt.Sprintf("%s, %s, was not started: %v", c.path, c.why, err))
				continue
			}
		}
		found, err := p.probe(ctx, c, s)
		if ctx.Err() != nil {
			return Python{}, ctx.Err()
		}
		if err != nil {
			passed = append(passed, fmt.Sprintf("%s, %s, does not work: %v", c.path, c.why, err))
			continue
		}
		if i := slices.IndexFunc(demands, func(d demand) bool { return !fitsVersion(d.version, found.Version) }); i >= 0 {
			if n >= own { // not of the project, nor chosen by the user
				if other == nil {
					other = &found
				}
				continue
			}
			passed = append(passed, fmt.Sprintf("the project asks for Python %v, and its environment has another one", demands[i]))
		}
		found.Passed = passed
		return found, nil
	}
	if other != nil {
		i := slices.IndexFunc(demands, func(d demand) bool { return !fitsVersion(d.version, other.Version) })
		other.Passed = append(passed, fmt.Sprintf("no Python %v was found, which the project asks for", demands[i]))
		return *other, nil
	}
	text := "no Python 3.8 or newer was found"
	if len(passed) > 0 {
		text += " (" + strings.Join(passed, "; ") + ")"
	}
	return Python{}, fmt.Errorf("%s: install one, or name one in code_execution.python", text)
}

// Likely reports whether Find finds a candidate. It starts no process.
func (s Search) Likely() bool {
	list, _ := s.candidates()
	return slices.ContainsFunc(list, func(c candidate) bool { return isFile(c.path) })
}

// candidates returns the candidates in search order. The first own candidates are chosen by the
// user or belong to the project.
func (s Search) candidates() (list []candidate, own int) {
	if s.Strict {
		return s.onPath("python3"), 0
	}
	list = s.configured()
	list = append(list, s.activated()...)
	for _, folder := range s.Folders {
		list = append(list, s.inFolder(folder)...)
	}
	own = len(list)
	list = slices.Concat(list, s.onPath("python3", "python"), s.beyondPath())
	if len(s.Folders) > 0 {
		p := readProject(s, s.Folders[0])
		for _, d := range p.demands() {
			list = append(list, p.installed(d)...)
		}
	}
	return list, own
}

// demands returns the versions requested by the project in the first folder.
func (s Search) demands() []demand {
	if s.Strict || s.Configured != "" || len(s.Folders) == 0 {
		return nil
	}
	return readProject(s, s.Folders[0]).demands()
}

// configured returns the configured interpreter: a program, a name on PATH, or the
// directory of an environment.
func (s Search) configured() []candidate {
	named := s.expand(s.Configured)
	if named == "" {
		return nil
	}
	why := "the configured interpreter (code_execution.python)"
	missing := fmt.Sprintf("%s, %s, does not exist", named, why)
	if !strings.ContainsRune(named, filepath.Separator) {
		for _, dir := range s.path() {
			if path := filepath.Join(dir, named); isFile(path) {
				return []candidate{{path, why, "", ""}}
			}
		}
	}
	if !filepath.IsAbs(named) && len(s.Folders) > 0 {
		named = filepath.Join(s.Folders[0], named)
	}
	if info, err := os.Stat(named); err == nil && info.IsDir() {
		return []candidate{{inEnvironment(named), why, missing, ""}}
	}
	return []candidate{{named, why, missing, ""}}
}

// expand replaces editor variables in a setting.
func (s Search) expand(text string) string {
	text = strings.TrimSpace(text)
	if len(s.Folders) > 0 {
		for _, name := range []string{"${workspaceFolder}", "${workspaceRoot}"} {
			text = strings.ReplaceAll(text, name, s.Folders[0])
		}
	}
	home := lookup(s.Environ, "HOME")
	text = strings.ReplaceAll(text, "${userHome}", home)
	if rest, ok := strings.CutPrefix(text, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return text
}

// activated returns the interpreter of the active environment at the server's start.
func (s Search) activated() []candidate {
	var list []candidate
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := lookup(s.Environ, name); filepath.IsAbs(dir) {
			list = append(list, candidate{inEnvironment(dir), "from " + name, fmt.Sprintf("%s (%s) has no interpreter", name, dir), ""})
		}
	}
	return list
}

// inFolder returns the interpreters of a workspace folder: in an environment with a usual
// name (uv, Poetry and PDM make .venv, VS Code .conda), named in PDM's file, or installed by
// pyenv.
func (s Search) inFolder(folder string) []candidate {
	var list []candidate
	if dir := lookup(s.Environ, "UV_PROJECT_ENVIRONMENT"); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(folder, dir)
		}
		list = append(list, candidate{inEnvironment(dir), "from UV_PROJECT_ENVIRONMENT", "", ""})
	}
	for _, name := range []string{".venv", "venv", "env", ".conda"} {
		dir := filepath.Join(folder, name)
		c := candidate{path: inEnvironment(dir), why: "the workspace's " + name}
		switch {
		case ofWindows(dir):
			c.missing = fmt.Sprintf("%s was made on Windows, and its interpreter cannot run here", c.why)
		case isFile(filepath.Join(dir, "pyvenv.cfg")):
			c.missing = fmt.Sprintf("%s, %s, has no interpreter that exists", c.path, c.why)
		}
		list = append(list, c)
	}
	if path := firstLine(folder, ".pdm-python"); filepath.IsAbs(path) {
		list = append(list, candidate{path, "named in .pdm-python", path + ", named in .pdm-python, does not exist", ""})
	}
	list = append(list, readProject(s, folder).environments()...)
	return append(list, s.pyenv(folder)...)
}

// pyenv returns the versions named by .python-version. It avoids the shims: they are slow and not
// on the PATH of an editor started from a menu.
func (s Search) pyenv(folder string) []candidate {
	data, err := textfile.ReadBelow(folder, ".python-version", safefile.Line)
	if err != nil {
		return nil
	}
	root := lookup(s.Environ, "PYENV_ROOT")
	if root == "" {
		root = filepath.Join(lookup(s.Environ, "HOME"), ".pyenv")
	}
	var list []candidate
	for _, version := range strings.Fields(string(data)) {
		if strings.ContainsAny(version, `/\`) || version == ".." {
			continue
		}
		dir := filepath.Join(root, "versions", version)
		if !isFile(inEnvironment(dir)) {
			// 3.12 means the newest 3.12.x
			found, _ := filepath.Glob(dir + ".*")
			slices.SortFunc(found, func(a, b string) int { return newer(a, b) })
			if len(found) > 0 {
				dir = found[0]
			}
		}
		list = append(list, candidate{inEnvironment(dir), "pyenv's " + version + ", named in .python-version", "", ""})
	}
	return list
}

// newer orders versions, the newest first: "3.12.10" is newer than "3.12.9".
func newer(a, b string) int {
	if d := len(b) - len(a); d != 0 {
		return d
	}
	return strings.Compare(b, a)
}

// onPath returns each program of these names on PATH.
func (s Search) onPath(names ...string) []candidate {
	var list []candidate
	for _, name := range names {
		for _, dir := range s.path() {
			if path := filepath.Join(dir, name); !dialogOnly(path) {
				list = append(list, candidate{path, name + " on PATH", "", ""})
			}
		}
	}
	return list
}

// beyondPath returns interpreters missing on the short PATH of an editor started from a menu.
func (s Search) beyondPath() []candidate {
	var list []candidate
	for _, dir := range []string{"/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"} {
		if path := filepath.Join(dir, "python3"); !dialogOnly(path) && !slices.Contains(s.path(), dir) {
			list = append(list, candidate{path, "python3 in " + dir, "", ""})
		}
	}
	return list
}

func (s Search) path() []string {
	return slices.DeleteFunc(filepath.SplitList(lookup(s.Environ, "PATH")), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// dialogOnly reports whether path is macOS's placeholder, which only asks to install Xcode.
func dialogOnly(path string) bool {
	if runtime.GOOS != "darwin" || path != "/usr/bin/python3" {
		return false
	}
	for _, tools := range []string{"/Library/Developer/CommandLineTools", "/Applications/Xcode.app"} {
		if _, err := os.Stat(tools); err == nil {
			return false
		}
	}
	return true
}

// inEnvironment returns the path of the interpreter of an environment in dir.
func inEnvironment(dir string) string {
	if path := filepath.Join(dir, "bin", "python3"); isFile(path) {
		return path
	}
	if runtime.GOOS == "windows" {
		for _, name := range []string{`Scripts\python.exe`, "python.exe"} {
			if path := filepath.Join(dir, name); isFile(path) {
				return path
			}
		}
	}
	return filepath.Join(dir, "bin", "python")
}

// ofWindows reports whether an environment was made on Windows and this is another system.
func ofWindows(dir string) bool {
	return runtime.GOOS != "windows" && isFile(filepath.Join(dir, "Scripts", "python.exe")) && !isFile(inEnvironment(dir))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func firstLine(folder, name string) string {
	data, err := textfile.ReadBelow(folder, name, safefile.Line)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}
