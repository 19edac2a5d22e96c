package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// A file that instructions import asks like the instructions, for file tools, commands and scripts.
func TestImportedFilesAsk(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"CLAUDE.md":           "Read @docs/style.md, and `@docs/span.md`.\n```\n@docs/fenced.md\n```\nMail me@docs/mail.md\n@docs/link.md\n",
		"docs/style.md":       "@deep/rules.txt\n",
		"docs/deep/rules.txt": "@../../CLAUDE.md\n",
		"docs/real.md":        "x\n",
		"AGENTS.md":           "See @docs/new.md (not there yet).\n",
		"sub/CLAUDE.local.md": "@../docs/sub.md\n@own.md\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real.md", filepath.Join(dir, "docs/link.md")); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	for name, asks := range map[string]bool{
		"docs/style.md": true, "docs/deep/rules.txt": true, "docs/real.md": true, "docs/link.md": true, "docs/new.md": true, "sub/own.md": true,
		"docs/span.md": false, "docs/fenced.md": false, "docs/mail.md": false, "docs/other.md": false, "style.md": false,
	} {
		e, err := EditOf(t.Context(), tools.Bounds{Files: ws}, []Change{{"Edit ", name}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		scope := policy.Scope{Cwd: dir, Roots: []string{dir}, Home: "/h", Resolve: FollowLinks, Importer: Importer(nil, []string{dir})}
		for how, v := range map[string]policy.Verdict{
			"tool": e.Verdict, "command": policy.Command("echo x > "+name, scope), "script": policy.Python("open('"+name+"', 'w').write('x')", scope),
		} {
			if got := v.Level == policy.Asks && v.EveryMode && strings.Contains(v.Reason, "imported by"); got != asks || !asks && v.Level != policy.Runs {
				t.Errorf("%s writes %s: level %v, in every mode %v (%s), want asked %v", how, name, v.Level, v.EveryMode, v.Reason, asks)
			}
		}
	}
}
