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

// instructionsLimit limits a file of instructions, in bytes.
const instructionsLimit = 1 << 20

// Importer returns the file of instructions that imports an absolute path, directly or by another
// imported file. It looks in the workspace folders, and in the directories around the path. If
// there is none, it returns "".
func Importer(path string, roots []string) string {
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
			from := filepath.Join(dir, filepath.FromSlash(name))
			if imports(from, path) {
				return from
			}
		}
	}
	return ""
}

// mostImported limits the files that are read for one path. With more, each path counts as imported.
const mostImported = 1000

// imports reports whether the file from imports path. It reads the files level by level, so each is read at
// its lowest depth.
func imports(from, path string) bool {
	seen := map[string]bool{from: true}
	level := []string{from}
	for depth := 0; depth < MostImports && len(level) > 0; depth++ {
		var next []string
		for _, file := range level {
			text, err := safefile.Read(file, instructionsLimit)
			if err != nil {
				continue
			}
			for _, one := range ImportsIn(string(text)) {
				name := one.Path(file)
				if name == "" || seen[name] {
					continue
				}
				target, err := filepath.EvalSymlinks(name)
				if strings.EqualFold(name, path) || err == nil && strings.EqualFold(target, path) || len(seen) == mostImported {
					return true
				}
				seen[name] = true
				next = append(next, name)
			}
		}
		level = next
	}
	return false
}
