package hermes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A count and the plural of a word can produce "1 calls". They are allowed if the number cannot be
// 1: limits.
var (
	countedWord = regexp.MustCompile(`((?:\S+ )?\S*)%d (calls|files|messages|sessions|prompts|hooks|turns|requests|processors|lines|arguments|tests|results|tools|servers|skills|edits|tasks)\b`)
	notOne      = regexp.MustCompile(`\b(most|than|last|these|are|limit of|up to|earlier|all|in|of)\s?$|/$`)
)

// TestCounts checks that texts of commands and debug pages never say "1 calls".
// amount.Plural returns the right form.
func TestCounts(t *testing.T) {
	t.Parallel()
	for file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(file, "cmd/") && !strings.HasPrefix(file, "internal/debug/") || strings.HasPrefix(file, "cmd/hermes-ls/demo/") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(lit.Value) // the parser has checked it
			for _, m := range countedWord.FindAllStringSubmatch(text, -1) {
				if !notOne.MatchString(m[1]) {
					t.Errorf("%s: %q can be \"1 %s\": use amount.Plural", set.Position(lit.Pos()), m[0], m[2])
				}
			}
			return true
		})
	}
}

// TestJSONOfCommands checks that commands encode JSON with package cli, which keeps &, < and > as
// they are.
func TestJSONOfCommands(t *testing.T) {
	t.Parallel()
	for file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(file, "cmd/") && !strings.HasSuffix(filepath.ToSlash(filepath.Dir(file)), "/cli") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok || x.Sel.Name != "MarshalIndent" && x.Sel.Name != "NewEncoder" {
				return true
			}
			if of, ok := x.X.(*ast.Ident); ok && of.Name == "json" {
				t.Errorf("%s: json.%s: use package cli", set.Position(x.Pos()), x.Sel.Name)
			}
			return true
		})
	}
}
