package protected

import (
	"os"
	"path/filepath"
	"testing"
)

// A file counts at its lowest depth, also if a longer chain reaches it first.
func TestImporterTakesTheShortestChain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"CLAUDE.md": "@a.md @d.md", "a.md": "@b.md", "b.md": "@c.md", "c.md": "@d.md", "d.md": "@e.md", "e.md": "@f.md", "f.md": "@g.md",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"d.md": true, "e.md": true, "f.md": true, "g.md": true, "h.md": false} {
		path := filepath.Join(dir, name)
		if got := Importer(path, Around(path, []string{dir}), ReadImports) != ""; got != want {
			t.Errorf("%s is imported: %v", name, got)
		}
	}
}

func TestInstructs(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/ws/AGENTS.md": true, "/ws/sub/claude.MD": true, "/ws/.claude/CLAUDE.md": true, "/ws/.github/copilot-instructions.md": true,
		"/ws/README.md": false, "/ws/.vscode": false, "/ws/.cursorrules": false,
	} {
		if Instructs(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
