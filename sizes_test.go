package hermes

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxPackageLines = 6000
	maxTypeMethods  = 58
)

// TestSizes limits packages to 6,000 lines and types to 58 methods, without tests and
// generated files.
func TestSizes(t *testing.T) {
	t.Parallel()
	lines, methods := map[string]int{}, map[string]int{}
	for file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(parsed) {
			continue
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		lines[dir] += bytes.Count(text, []byte{'\n'})
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[dir+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	sizes := map[string]int{}
	for dir, n := range lines {
		if n > maxPackageLines {
			sizes[dir] = n
		}
	}
	for name, n := range methods {
		if n > maxTypeMethods {
			sizes[name] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		t.Errorf("%s has %d lines or methods: a package has at most %d lines, a type at most %d methods", name, sizes[name], maxPackageLines, maxTypeMethods)
	}
	if len(lines) < 20 {
		t.Errorf("only %d packages were counted: the walk is broken", len(lines))
	}
}

// TestSizeOfPolicy limits the analysis of commands to 3,700 lines of code, without comments and
// blank lines. Programs and their options belong into the rule files.
func TestSizeOfPolicy(t *testing.T) {
	t.Parallel()
	lines := 0
	for file := range goFiles(t) {
		if !strings.HasPrefix(filepath.ToSlash(file), "tools/policy/") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
	}
	if lines == 0 || lines > 3700 {
		t.Errorf("the analysis of commands has %d lines of code, at most 3,700", lines)
	}
}

// maxFields limits the fields of types that features would otherwise add to.
var maxFields = map[string]int{"server.Session": 12}

// TestFields counts the fields of the types in maxFields, embedded ones included.
func TestFields(t *testing.T) {
	t.Parallel()
	counted := map[string]int{}
	for file := range goFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(file))
		if strings.HasSuffix(file, "_test.go") || !slices.ContainsFunc(slices.Collect(maps.Keys(maxFields)), func(name string) bool {
			return strings.HasPrefix(name, dir+".")
		}) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if structure, ok := spec.Type.(*ast.StructType); ok {
					counted[dir+"."+spec.Name.Name] = max(structure.Fields.NumFields(), 1)
				}
			}
			return true
		})
	}
	for name, most := range maxFields {
		switch n := counted[name]; {
		case n == 0:
			t.Errorf("%s was not found", name)
		case n > most:
			t.Errorf("%s has %d fields, at most %d", name, n, most)
		}
	}
}

// receiver returns the name of the type of a receiver.
func receiver(expr ast.Expr) string {
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return "?"
		}
	}
}

// goFiles yields the Go files of the module, without testdata.
func goFiles(t *testing.T) iter.Seq[string] {
	t.Helper()
	return slices.Values(filesOf(t, func(file string) bool { return strings.HasSuffix(file, ".go") }))
}

// filesOf lists the files that keep selects, without hidden directories, those of dependencies and
// of testdata, and those with a name in without.
func filesOf(t *testing.T, keep func(file string) bool, without ...string) (files []string) {
	t.Helper()
	without = append(without, "node_modules", "testdata")
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && file != "." || slices.Contains(without, d.Name())):
			return filepath.SkipDir
		case !d.IsDir() && keep(file):
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
