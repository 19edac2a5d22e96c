package verify

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

const (
	maxFound = 6       // commands
	maxFile  = 1 << 20 // bytes of a readable file
	maxCI    = 10      // workflow files to read
	maxWords = 8       // words of a command in a CI file
	maxWord  = 40      // bytes of an argument there
)

// found is a command that checks changes, and its source file.
type found struct{ Command, File string }

// find returns the commands that check the project in a folder, by its Makefile, package.json,
// pyproject.toml and go.mod. If these contain none, it reads the CI files. The commands consist of
// known names; CI files may also add options and paths. So a file cannot add sentences. Nothing is
// run.
func find(folder string) []found {
	dir, err := safefile.OpenFolder(folder)
	if err != nil {
		return nil
	}
	defer dir.Close() // only read
	p := project{dir}
	all := slices.Concat(p.makefile(), p.packageJSON(), p.python(), p.goModule())
	if len(all) == 0 {
		all = p.ci()
	}
	return all[:min(len(all), maxFound)]
}

// project is a folder to search.
type project struct{ dir *safefile.Folder }

// read returns the text of a file. If there is none, or if it is not a regular file, it
// returns "".
func (p project) read(name string) string {
	text, err := p.dir.Read(name, maxFile)
	if err != nil {
		return ""
	}
	return string(text)
}

func (p project) has(name string) bool {
	_, err := p.dir.Lstat(name)
	return err == nil
}

var target = lazyregexp.New(`(?m)^(test|check|lint|vet|typecheck)[ \t]*::?(?:[^=]|$)`)

func (p project) makefile() (all []found) {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		text := p.read(name)
		if text == "" {
			continue
		}
		targets := map[string]bool{}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			targets[m[1]] = true
		}
		for _, t := range []string{"test", "check", "lint", "vet", "typecheck"} {
			if targets[t] {
				all = append(all, found{"make " + t, name})
			}
		}
		return all // make reads the first
	}
	return nil
}

func (p project) packageJSON() (all []found) {
	const name = "package.json"
	var in struct {
		Scripts        map[string]string
		PackageManager string
	}
	if json.Unmarshal([]byte(p.read(name)), &in) != nil {
		return nil
	}
	manager := "npm"
	for _, m := range []struct{ name, lock string }{{"pnpm", "pnpm-lock.yaml"}, {"yarn", "yarn.lock"}, {"bun", "bun.lock"}, {"bun", "bun.lockb"}} {
		if strings.HasPrefix(in.PackageManager, m.name+"@") || in.PackageManager == "" && p.has(m.lock) {
			manager = m.name
			break
		}
	}
	for _, script := range []string{"test", "lint", "typecheck", "type-check", "check"} {
		if text := in.Scripts[script]; text != "" && !strings.Contains(text, "no test specified") {
			all = append(all, found{manager + " run " + script, name})
		}
	}
	return all
}

func (p project) python() (all []found) {
	const name = "pyproject.toml"
	text := p.read(name)
	if text == "" {
		return nil
	}
	for _, c := range []struct{ word, command string }{{"pytest", "pytest"}, {"[tool.ruff", "ruff check ."}, {"[tool.mypy", "mypy ."}} {
		if strings.Contains(text, c.word) {
			all = append(all, found{c.command, name})
		}
	}
	if len(all) == 0 && p.has("tests") {
		all = append(all, found{"python -m unittest", name})
	}
	return all
}

func (p project) goModule() (all []found) {
	const name = "go.mod"
	if p.read(name) == "" {
		return nil
	}
	all = []found{{"go test ./...", name}}
	for _, config := range []string{".golangci.yml", ".golangci.yaml", ".golangci.toml"} {
		if p.has(config) {
			return append(all, found{"golangci-lint run", config})
		}
	}
	return append(all, found{"go vet ./...", name})
}

// simple is a command without quotes, expansions and operators.
var simple = lazyregexp.New(`^[A-Za-z0-9_./:@=,+ -]{1,100}$`)

// argument matches words of a command other than plain words: an option, a path, an assignment.
var argument = lazyregexp.New(`^-|[./:=@0-9]`)

// knownWords reports whether a line consists only of arguments and known words of checks. A file
// must not pass sentences to the model in the name of a check.
func knownWords(line string) bool {
	words := strings.Fields(line)
	return len(words) <= maxWords && !slices.ContainsFunc(words, func(w string) bool {
		return !isName(w) && (len(w) > maxWord || !argument.MatchString(w))
	})
}

// isName reports whether a word occurs in commands of checks.
func isName(w string) bool {
	if _, wraps := wrappers[w]; wraps || checkers.has(w) || runners.has(w) || subcommands[w] != "" || task.MatchString(w) {
		return true
	}
	for _, names := range subcommands {
		if names.has(w) {
			return true
		}
	}
	return slices.Contains([]string{"run", "exec", "python", "python3", "bash", "sh", "unittest"}, w)
}

// ci returns the checks in the steps of CI files.
func (p project) ci() (all []found) {
	files := []string{".gitlab-ci.yml"}
	const workflows = ".github/workflows"
	if list, err := p.dir.ReadDir(workflows, 1000); err == nil {
		for _, f := range list {
			if ext := path.Ext(f.Name()); ext == ".yml" || ext == ".yaml" {
				files = append(files, workflows+"/"+f.Name())
			}
		}
	}
	slices.Sort(files)
	for _, name := range files[:min(len(files), maxCI)] {
		for line := range strings.Lines(p.read(name)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
			line = strings.TrimSpace(strings.TrimPrefix(line, "run:"))
			if !simple.MatchString(line) || !knownWords(line) || len(checksIn(line, nil)) == 0 {
				continue
			}
			if !slices.ContainsFunc(all, func(f found) bool { return f.Command == line }) {
				all = append(all, found{line, name})
			}
		}
	}
	return all
}
