package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// If the workspace is the home directory or above it, reading and searching require approval for
// places hidden from commands. This also applies behind a link, and in every mode. In a project
// below the home directory, they do not.
func TestReadsOfPrivatePlacesAsk(t *testing.T) {
	t.Parallel()
	files := map[string]string{"u/.ssh/id_rsa": "KEY\n", "u/.aws/credentials": "KEY\n", "u/.netrc": "KEY\n", "u/notes.txt": "note\n", "u/src/a.txt": "text\n", "u/src/.env": "text\n"}
	for _, c := range []struct {
		root, tool, path string // below the directory that contains the home "u"
		asks             bool
	}{
		{"u", "read_file", "u/.ssh/id_rsa", true},
		{"u", "read_file", "u/.ssh", true},
		{"u", "read_file", "u/.netrc", true},
		{"u", "read_file", "u/src/link", true},
		{"u", "search_files", "u/.aws", true},
		{"u", "search_files", "u/.aws/credentials", true},
		{".", "read_file", "u/.aws/credentials", true},
		{".", "search_files", "u/.ssh", true},
		{"u", "search_files", "u", false},
		{"u", "read_file", "u", false},
		{"u", "read_file", "u/notes.txt", false},
		{"u", "read_file", "u/src/a.txt", false},
		{"u/src", "read_file", "u/src/.env", false},
		{"u/src", "search_files", "u/src", false},
		{"u/.ssh", "read_file", "u/.ssh/id_rsa", false}, // the user has opened just this folder
	} {
		p := newPlace(t, files)
		if err := os.Symlink("../.ssh/id_rsa", filepath.Join(p.dir, "u/src/link")); err != nil {
			t.Fatal(err)
		}
		ws, err := workspace.Open([]string{filepath.Join(p.dir, c.root)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ws.Close() })
		p.env.Files = ws
		for _, mode := range []string{"ask", "off"} {
			for _, say := range []tools.Decision{tools.DecisionOnce, tools.DecisionDeny} {
				user := &answers{say: say}
				p.env.Gate = gate.New(gate.Config{Asker: user, Mode: mode})
				p.env.Sandbox = sandbox.New(sandbox.Config{Mode: sandbox.WorkspaceWrite, Roots: p.env.Files.Folders, Home: filepath.Join(p.dir, "u")})
				args := map[string]string{"path": filepath.Join(p.dir, c.path)}
				if c.tool == "search_files" {
					args["pattern"] = "KE.|text|note"
				}
				got := p.call(t, c.tool, args)
				if asked := len(user.asked) == 1; asked != c.asks || got.IsError != (c.asks && say == tools.DecisionDeny) {
					t.Errorf("%s of %s in %s, mode %s, answered %s: asked %v: %s", c.tool, c.path, c.root, mode, say, user.asked, got.JSON)
				} else if got.IsError && strings.Contains(string(got.JSON), "KEY") {
					t.Errorf("%s of %s: %s", c.tool, c.path, got.JSON)
				}
			}
		}
	}
}
