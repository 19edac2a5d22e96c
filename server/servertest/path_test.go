//go:build unix

package servertest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// The server was started in an activated environment, so its PATH begins with folders of the
// workspace. A command leaves programs there. The server never runs them, whether to check the
// syntax of a file, to search, to make a worktree or to keep checkpoints. Not parallel: it changes
// PATH.
func TestProgramsOfWorkspaceNotRun(t *testing.T) {
	testneed.Long(t)
	root, home, outside := repository(t), t.TempDir(), t.TempDir()
	t.Chdir(root)
	entries := ""
	for _, folder := range []string{filepath.Join(root, ".venv", "bin"), filepath.Join("node_modules", ".bin"), "./node_modules/.bin", "", filepath.Join(root, "linked")} {
		entries += folder + ":"
	}
	t.Setenv("PATH", entries+os.Getenv("PATH"))
	marker := filepath.Join(outside, "PWNED")
	// The programs are made with the shell's own builtins, so none of them is needed for it.
	plant := `for d in .venv/bin node_modules/.bin . linked; do mkdir -p $d; for p in git rg python3 python ssh bwrap; do
printf '#!/bin/sh\necho "$0 $*" >>` + marker + `\nexit 1\n' >$d/$p; chmod +x $d/$p; done; done 2>&1; echo pla''nted`
	worktree := map[string]any{"tasks": []map[string]any{{"goal": "Look around", "isolation": "worktree", "toolsets": []string{"file"}}}}
	m := fakemodel.Script(
		calls("terminal", map[string]any{"command": plant}), says("Begun."),
		calls("write_file", map[string]any{"path": "sub/new.py", "content": "x = 1\n"}),
		calls("search_files", map[string]any{"pattern": "need" + "le"}),
		calls("terminal", map[string]any{"command": "echo ch''anged >a.txt; printf '[x]\\ny=1\\n' >>.git/config"}),
		calls("delegate_task", worktree), says("I looked."),
		calls("execute_code", map[string]any{"code": "print('sc' + 'ript')"}),
		says("Done."),
	)
	e := servertest.New(t, servertest.Options{Root: root, Home: home, Model: m})
	for range 2 {
		if reason := e.Ask("go").StopReason; reason != "end_turn" {
			t.Errorf("the turn ended with %q", reason)
		}
	}
	e.End()
	if text, err := os.ReadFile(marker); err == nil {
		t.Errorf("programs of the workspace were run:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(root, ".venv", "bin", "git")); err != nil {
		t.Errorf("nothing was planted: %v", err)
	}
}
