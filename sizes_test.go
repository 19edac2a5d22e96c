package hermes

import (
	"bytes"
	"fmt"
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

// The limits of TestSizes.
const (
	maxPackageLines = 4000
	maxMethods      = 45
	maxFields       = 20
	maxBackArrows   = 30 // percent, in packages with at least minArrows
	minArrows       = 10
)

// largePackages have more than maxPackageLines lines, for these reasons.
var largePackages = map[string]string{
	"agent":               "a session and its turns: the parts of a turn share its state",
	"extensions/mcp":      "servers are not yet one state machine; its parts follow then",
	"internal/checkpoint": "one store on disk: its objects, its index, and what changes both together",
	"internal/workspace":  "each way to a file passes the same checks of paths, links and buffers",
	"server":              "the sessions of both protocols, and what one changes for the other",
	"tools":               "the tool registry, and the values that all tools share",
	"tools/file":          "the tools that read and change files share their matching, messages and diagnostics",
}

// stillOver lists the types and packages over a limit, with the current numbers. An entry may only
// get smaller, and is removed when the limit holds.
var stillOver = map[string]int{
	"arrows back in agent/model/messages":     36,
	"arrows back in cmd/hermes-ls/demo":       33,
	"arrows back in cmd/modelcmd":             33,
	"arrows back in server/lsp/editor":        40,
	"fields of agent.Config":                  22,
	"fields of agent/model.inline":            24,
	"fields of agent/model/client.Endpoint":   25,
	"fields of extensions/mcp/cli.foreign":    28,
	"fields of config.Endpoint":               26,
	"fields of extension.Session":             25,
	"fields of extensions/lsp/own.server":     22,
	"fields of extensions/mcp.Config":         22,
	"fields of extensions/mcp.Server":         31,
	"fields of extensions/mcp.ServerSettings": 26,
	"fields of internal/checkpoint.Keeper":    23,
	"fields of internal/checkpoint.snapshot":  28,
	"fields of internal/proc/confine.Plan":    25,
	"fields of server/lsp.server":             22,
	"fields of server/servertest.Options":     23,
	"fields of tools.Tool":                    36,
	"fields of tools/shell.background":        23,
	"methods of agent.turn":                   56,
	"methods of internal/checkpoint.Store":    56,
	"methods of internal/sandbox.Box":         48,
	"methods of internal/workspace.Workspace": 55,
	"methods of server.Service":               54,
	"methods of server.Session":               82,

	"methods of internal/sandbox/gitguard.Guard": 51,
}

// TestSizes limits lines of packages, methods and fields of types, and back arrows between the
// files of a package, without tests and generated files. A function whose first or second parameter
// is a type of its package counts as its method.
func TestSizes(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{}
	packages := parsePackages(t)
	for dir, p := range packages {
		if reason := largePackages[dir]; (p.lines > maxPackageLines) != (reason != "") {
			t.Errorf("%s has %d lines: more than %d need a reason in largePackages, fewer need none", dir, p.lines, maxPackageLines)
		}
		over := func(name string, n, most int) {
			if n > most {
				sizes[name] = n
			}
		}
		for name, n := range p.methods() {
			over(fmt.Sprintf("methods of %s.%s", dir, name), n, maxMethods)
		}
		for name, n := range p.fields() {
			over(fmt.Sprintf("fields of %s.%s", dir, name), n, maxFields)
		}
		if back, all := p.arrows(); all >= minArrows {
			over("arrows back in "+dir, back*100/all, maxBackArrows)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if n := sizes[name]; n > stillOver[name] {
			t.Errorf("%s: %d, over the limit (%d methods, %d fields, %d %% of arrows)", name, n, maxMethods, maxFields, maxBackArrows)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stillOver)) {
		if sizes[name] < stillOver[name] {
			t.Errorf("%s: %d; lower or remove its entry in stillOver", name, sizes[name])
		}
	}
	if len(packages) < 20 {
		t.Errorf("only %d packages were counted: the walk is broken", len(packages))
	}
}

// goPackage holds the files of a package by their names, without tests and generated files.
type goPackage struct {
	files map[string]*ast.File
	lines int
}

func parsePackages(t *testing.T) map[string]*goPackage {
	t.Helper()
	packages := map[string]*goPackage{}
	for file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(parsed) {
			continue
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		if packages[dir] == nil {
			packages[dir] = &goPackage{files: map[string]*ast.File{}}
		}
		packages[dir].files[filepath.Base(file)] = parsed
		packages[dir].lines += bytes.Count(text, []byte{'\n'})
	}
	return packages
}

// declarations yields each declared function, type, variable and constant with its file. Methods
// are yielded without a name.
func (p *goPackage) declarations() iter.Seq2[string, ast.Node] {
	return func(yield func(string, ast.Node) bool) {
		for file, parsed := range p.files {
			for _, d := range parsed.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if !yield(file, d) {
						return
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if !yield(file, spec) {
							return
						}
					}
				}
			}
		}
	}
}

// fields counts the fields of each struct, embedded types included.
func (p *goPackage) fields() map[string]int {
	counts := map[string]int{}
	for _, d := range p.declarations() {
		if spec, ok := d.(*ast.TypeSpec); ok {
			counts[spec.Name.Name] = 0
			if structure, ok := spec.Type.(*ast.StructType); ok {
				counts[spec.Name.Name] = structure.Fields.NumFields()
			}
		}
	}
	return counts
}

// methods counts the methods of each type, and the functions with the type as first or second
// parameter.
func (p *goPackage) methods() map[string]int {
	types, counts := p.fields(), map[string]int{}
	for _, d := range p.declarations() {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		taken := map[string]bool{}
		if f.Recv != nil {
			taken[baseType(f.Recv.List[0].Type)] = true
		} else {
			for i, param := range parameters(f) {
				if _, ours := types[baseType(param)]; ours && i < 2 {
					taken[baseType(param)] = true
				}
			}
		}
		for name := range taken {
			counts[name]++
		}
	}
	return counts
}

// parameters returns the types of the parameters, a type for each name.
func parameters(f *ast.FuncDecl) (types []ast.Expr) {
	for _, field := range f.Type.Params.List {
		for range max(len(field.Names), 1) {
			types = append(types, field.Type)
		}
	}
	return types
}

// arrows counts the pairs of files in which the first file uses a name declared in the second. back
// is how many run back if the files are ordered to make it small.
func (p *goPackage) arrows() (back, all int) {
	declared := map[string]string{}
	for file, d := range p.declarations() {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				declared[d.Name.Name] = file
			}
		case *ast.TypeSpec:
			declared[d.Name.Name] = file
		case *ast.ValueSpec:
			for _, name := range d.Names {
				declared[name.Name] = file
			}
		}
	}
	uses := map[string]map[string]bool{}
	for file, parsed := range p.files {
		uses[file] = map[string]bool{}
		for _, name := range parsed.Unresolved { // not declared in the file
			if owner := declared[name.Name]; owner != "" && owner != file {
				uses[file][owner] = true
			}
		}
	}
	place := map[string]int{}
	for i, file := range ordered(uses) {
		place[file] = i
	}
	for file, owners := range uses {
		for owner := range owners {
			all++
			if place[file] > place[owner] {
				back++
			}
		}
	}
	return back, all
}

// ordered returns the files in an order in which few use an earlier file. Files using no other go
// last, and files used by no other go first. Otherwise, a file using many and used by few comes
// next.
func ordered(uses map[string]map[string]bool) []string {
	left := slices.Sorted(maps.Keys(uses))
	var first, last []string
	take := func(i int) string {
		file := left[i]
		left = slices.Delete(left, i, i+1)
		return file
	}
	out := func(file string) (n int) {
		for owner := range uses[file] {
			if slices.Contains(left, owner) {
				n++
			}
		}
		return n
	}
	in := func(file string) (n int) {
		for _, user := range left {
			if uses[user][file] {
				n++
			}
		}
		return n
	}
	for len(left) > 0 {
		if i := slices.IndexFunc(left, func(file string) bool { return out(file) == 0 }); i >= 0 {
			last = append(last, take(i))
			continue
		}
		if i := slices.IndexFunc(left, func(file string) bool { return in(file) == 0 }); i >= 0 {
			first = append(first, take(i))
			continue
		}
		best := 0
		for i, file := range left {
			if out(file)-in(file) > out(left[best])-in(left[best]) {
				best = i
			}
		}
		first = append(first, take(best))
	}
	slices.Reverse(last)
	return append(first, last...)
}

// baseType returns the name of a type of this package, without pointers and type arguments.
func baseType(expr ast.Expr) string {
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
			return ""
		}
	}
}

// goFiles yields the Go files of the module, without testdata.
func goFiles(t *testing.T) iter.Seq[string] {
	t.Helper()
	return slices.Values(filesOf(t, func(file string) bool { return strings.HasSuffix(file, ".go") }))
}

// filesOf lists the files selected by keep. It skips hidden directories, dependencies, testdata,
// and directories with a name in without.
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
