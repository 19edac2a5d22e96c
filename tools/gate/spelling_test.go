package gate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// A protected file is judged under each of its spellings.
func TestSpellingsOfProtectedFiles(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".git/hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "`.envrc`"), nil, 0o644); err != nil {
		t.Fatal(err) // a file of the odd name hides nothing
	}
	w, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, path := range []string{
		".git/hooks/pre-commit", `.git\hooks\pre-commit`, "`.git/hooks/pre-commit`", "<path>.git/hooks/pre-commit</path>", "a/.git/hooks/pre-commit", "/.git/hooks/pre-commit",
		`C:\x\` + filepath.Base(dir) + `\.git\hooks\pre-commit`, ".git%2Fhooks%2Fpre-commit", "@.git/hooks/pre-commit", "`.envrc`", ".envrc:1",
	} {
		if err := CheckEdit(t.Context(), &tools.Env{}, tools.Bounds{Files: w}, tools.Call{Name: "write_file"}, []Change{{"Edit ", path}}, nil); err == nil {
			t.Errorf("%q needs no approval", path)
		}
	}
	if err := CheckEdit(t.Context(), &tools.Env{}, tools.Bounds{Files: w}, tools.Call{Name: "write_file"}, []Change{{"Edit ", `src\a.go`}}, nil); err != nil {
		t.Error(err)
	}
}
