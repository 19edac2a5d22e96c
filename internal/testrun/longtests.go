package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// longTests returns the tests of a checkout that call testneed.Long, which the race detector skips, and
// their packages. Packages that match a pattern run without the detector anyway, and are left out.
func longTests(root string, whole []string) (names, packages []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := "./" + filepath.ToSlash(dir)
		if slices.ContainsFunc(whole, func(pattern string) bool { return matches(pattern, pkg) }) {
			return nil
		}
		found, err := longTestsOf(path)
		if len(found) > 0 {
			names, packages = append(names, found...), append(packages, pkg)
		}
		return err
	})
	slices.Sort(names)
	return slices.Compact(names), slices.Compact(packages), err
}

// matches reports whether a pattern such as ./server or ./server/... matches a package.
func matches(pattern, pkg string) bool {
	all, many := strings.CutSuffix(pattern, "/...")
	return pattern == pkg || many && strings.HasPrefix(pkg+"/", all+"/")
}

// longTestsOf returns the tests of a file that call testneed.Long.
func longTestsOf(path string) (names []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "testneed.Long(") {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		test, ok := decl.(*ast.FuncDecl)
		if !ok || test.Recv != nil || !strings.HasPrefix(test.Name.Name, "Test") {
			continue
		}
		ast.Inspect(test, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Long" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "testneed" {
					names = append(names, test.Name.Name)
				}
			}
			return true
		})
	}
	return names, nil
}
