package hermes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestInit allows no init function outside of tests. main turns the process into something else, such
// as being a supervisor (internal/modes).
func TestInit(t *testing.T) {
	t.Parallel()
	files := 0
	for file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		files++
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function: have main call it", file)
			}
		}
	}
	if files < 10 {
		t.Errorf("only %d files were checked: the walk is broken", files)
	}
}
