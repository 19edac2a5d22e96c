package codeexec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// demand is a version requested by a project's file, such as 3.12 or >=3.11,<3.14.
type demand struct{ version, file string }

func (d demand) String() string { return d.version + " (" + d.file + ")" }

var numbered = lazyregexp.New(`(\d+(?:\.\d+)*)`)

// demands returns the versions requested by the folder's files.
func (p project) demands() (all []demand) {
	add := func(version, file string) {
		if version = strings.TrimSpace(version); numbered.MatchString(version) {
			all = append(all, demand{version, file})
		}
	}
	for line := range strings.Lines(p.file(".python-version")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			if version, ok := plainVersion(line); ok {
				add(version, ".python-version")
			}
			break
		}
	}
	add(p.project.Project.Requires, "pyproject.toml")
	if poetry := p.project.Tool.Poetry; poetry != nil {
		version, _ := poetry.Dependencies["python"].(string)
		add(version, "pyproject.toml")
	}
	for line := range strings.Lines(p.file(".tool-versions")) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "python" {
			add(words[1], ".tool-versions")
		}
	}
	for _, file := range []string{"mise.toml", ".mise.toml"} {
		var mise struct{ Tools map[string]any }
		if _, err := toml.Decode(p.file(file), &mise); err == nil {
			if version, ok := mise.Tools["python"].(string); ok {
				add(version, file)
			}
		}
	}
	if version, ok := strings.CutPrefix(strings.TrimSpace(p.file("runtime.txt")), "python-"); ok {
		add(version, "runtime.txt")
	}
	var pipfile struct{ Requires map[string]string }
	if _, err := toml.Decode(p.file("Pipfile"), &pipfile); err == nil {
		add(firstText(pipfile.Requires["python_full_version"], pipfile.Requires["python_version"]), "Pipfile")
	}
	return all
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// plainVersion returns the version in a name such as 3.12, cpython@3.12.1 or cpython-3.12.1-linux. The name of an environment,
// or of another implementation, is none.
func plainVersion(name string) (version string, ok bool) {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "cpython@"), "cpython-")
	name = strings.TrimPrefix(name, "python")
	if name == "" || name[0] < '0' || name[0] > '9' {
		return "", false
	}
	return numbered.FindStringSubmatch(name)[1], true
}

// installed returns interpreters of version managers that satisfy a demand: uv, mise, asdf, Rye,
// pyenv, and python3.X on PATH.
func (p project) installed(d demand) (list []candidate) {
	places := []struct{ base, pattern, name string }{
		{p.directory(".local/share/uv/python", "UV_PYTHON_INSTALL_DIR"), "cpython-3*", "uv's"},
		{filepath.Join(p.directory(".local/share/mise", "MISE_DATA_DIR"), "installs", "python"), "3*", "mise's"},
		{filepath.Join(p.directory(".asdf", "ASDF_DATA_DIR"), "installs", "python"), "3*", "asdf's"},
		{filepath.Join(p.directory(".rye", "RYE_HOME"), "py"), "cpython@3*", "Rye's"},
		{filepath.Join(p.directory(".pyenv", "PYENV_ROOT"), "versions"), "3*", "pyenv's"},
	}
	for _, place := range places {
		for _, c := range newest(place.base, place.pattern, place.name) {
			if version, ok := plainVersion(filepath.Base(c.path)); ok && strings.Count(version, ".") > 0 && fitsVersion(d.version, version) {
				list = append(list, candidate{inEnvironment(c.path), fmt.Sprintf("%s %s, which fits %v", place.name, version, d), "", ""})
			}
		}
	}
	for minor := newestMinor; minor >= oldestMinor; minor-- {
		if name := fmt.Sprintf("python3.%d", minor); fitsVersion(d.version, strings.TrimPrefix(name, "python")) {
			for _, c := range p.search.onPath(name) {
				c.why = fmt.Sprintf("%s on PATH, which fits %v", name, d)
				list = append(list, c)
			}
		}
	}
	return list
}

// newestMinor is the newest minor version of Python 3 in the search by name.
const newestMinor = 16

// fitsVersion reports whether a version satisfies a demand. It ignores parts missing in version.
func fitsVersion(want, version string) bool {
	have := numbersOf(version)
	for either := range strings.SplitSeq(want, "||") {
		all := true
		for one := range strings.SplitSeq(either, ",") {
			for _, word := range specifiers.FindAllStringSubmatch(one, -1) {
				all = all && fitsOne(word[1], strings.TrimSuffix(word[2], ".*"), strings.HasSuffix(word[2], ".*"), have)
			}
		}
		if all {
			return true
		}
	}
	return false
}

var specifiers = lazyregexp.New(`(===?|~=|!=|<=|>=|<|>|\^|~)?\s*(\d+(?:\.\d+)*(?:\.\*)?)`)

func fitsOne(operator, text string, all bool, have []int) bool {
	want := numbersOf(text)
	order := slices.Compare(have[:min(len(have), len(want))], want[:min(len(have), len(want))])
	same := order == 0
	switch operator {
	case ">=":
		return order >= 0
	case "<=":
		return order <= 0
	case "<":
		return order < 0
	case ">":
		return order > 0 || same && len(have) < len(want)
	case "!=":
		return !same || !all && len(want) > len(have)
	case "^": // the same main version
		return order >= 0 && have[0] == want[0]
	case "~=":
		return order >= 0 && slices.Equal(have[:min(len(want)-1, len(have))], want[:min(len(want)-1, len(have))])
	case "~":
		n := min(len(want), 2, len(have))
		return order >= 0 && slices.Equal(have[:n], want[:n])
	}
	return same
}

func numbersOf(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part) // are digits
		all = append(all, n)
	}
	return all
}
