package protected

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// MostImports limits the depth of imports, importsPerFile their number in a file.
const (
	MostImports    = 5
	importsPerFile = 50
)

var (
	importName = lazyregexp.New(`(?:^|[\s(])@([^\s@` + "`" + `]+)`)
	codeSpan   = lazyregexp.New("`[^`]*`")
)

// Import is a file named after @ in a file of instructions.
type Import struct {
	Name string
	Line int // of the name
}

// ImportsIn returns the files named after @ in a text, outside of code.
func ImportsIn(text string) (all []Import) {
	fenced, left := "", importsPerFile
	for i, line := range strings.Split(text, "\n") {
		if mark := strings.TrimSpace(line); strings.HasPrefix(mark, "```") || strings.HasPrefix(mark, "~~~") {
			if fenced == "" {
				fenced = mark[:3]
			} else if strings.HasPrefix(mark, fenced) {
				fenced = ""
			}
			continue
		}
		if fenced != "" || !strings.Contains(line, "@") {
			continue
		}
		for _, m := range importName.FindAllStringSubmatch(string(codeSpan.ReplaceAll([]byte(line), []byte("``"))), -1) {
			name := strings.TrimRight(m[1], ".,;:!?)]}'\"")
			if left--; left >= 0 && strings.ContainsAny(name, "./") {
				all = append(all, Import{name, i + 1})
			}
		}
	}
	return all
}

// Path returns the path of an import of the file from. For a path in the home, it returns "".
func (i Import) Path(from string) string {
	path := filepath.FromSlash(i.Name)
	switch {
	case strings.HasPrefix(i.Name, "~"):
		return ""
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(from), path)
}

// instructions returns the names of Markdown files with instructions, which can import others.
var instructions = sync.OnceValue(func() (names []string) {
	for _, n := range Names() {
		if n.Kind == "path" && strings.HasSuffix(n.Text, ".md") && strings.Contains(n.Reason, "agents") && !slices.Contains(names, n.Text) {
			names = append(names, n.Text)
		}
	}
	return names
})

// Instructs reports whether a file can contain instructions with imports.
func Instructs(path string) bool {
	dir, name := filepath.Split(path)
	return slices.ContainsFunc(instructions(), func(known string) bool {
		folder, inner, nested := strings.Cut(known, "/")
		if !nested {
			return strings.EqualFold(known, name)
		}
		return strings.EqualFold(inner, name) && strings.EqualFold(folder, filepath.Base(dir))
	})
}

// Around returns the files that can contain instructions in the workspace folders and in the directories
// around a path. They need not exist.
func Around(path string, roots []string) (files []string) {
	dirs := slices.Clone(roots)
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range dirs {
		for _, name := range instructions() {
			files = append(files, filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	return files
}

// instructionsLimit limits a file of instructions, in bytes.
const instructionsLimit = 1 << 20

// ReadImports returns the imports in a file. If it cannot be read, there are none.
func ReadImports(path string) []Import {
	text, err := safefile.Read(path, instructionsLimit)
	if err != nil {
		return nil
	}
	return ImportsIn(string(text))
}

// Imported is a path that a file imports. Nothing need be there.
type Imported struct{ Path, From string }

// mostImported limits the paths of [Imports].
const mostImported = 1000

// Imports returns the paths that files of instructions import, directly or by another imported file. It
// follows them level by level, so each path is listed once, at its lowest depth. read is like [ReadImports].
// If there are too many, whole is false.
func Imports(files []string, read func(path string) []Import) (all []Imported, whole bool) {
	seen := map[string]bool{}
	for _, file := range files {
		seen[file] = true
	}
	level := files
	for depth := 0; depth < MostImports && len(level) > 0; depth++ {
		var next []string
		for _, file := range level {
			for _, one := range read(file) {
				path := one.Path(file)
				if path == "" || seen[path] {
					continue
				}
				if len(all) == mostImported {
					return all, false
				}
				seen[path] = true
				all, next = append(all, Imported{path, file}), append(next, path)
			}
		}
		level = next
	}
	return all, true
}

// Importer returns the first of the files of instructions by which an absolute path is imported; see
// [Imports]. If there is none, it returns "". With too many imports, each path counts as imported.
func Importer(path string, files []string, read func(path string) []Import) string {
	all, whole := Imports(files, read)
	for _, one := range all {
		if target, err := filepath.EvalSymlinks(one.Path); strings.EqualFold(one.Path, path) || err == nil && strings.EqualFold(target, path) {
			return one.From
		}
	}
	if !whole {
		return all[0].From
	}
	return ""
}
