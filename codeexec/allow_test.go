//go:build unix

package codeexec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Without a sandbox, an interpreter from the repository starts only after approval. After a denial,
// the next interpreter runs the script.
func TestInterpreterOfWorkspaceAsks(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	for _, folder := range []string{".venv", "venv", "LINK"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{}, nil)
			marker := filepath.Join(t.TempDir(), "started")
			dir := filepath.Join(b.dir, strings.Replace(folder, "LINK", "env", 1), "bin")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "python3")
			hostile := "#!/bin/sh\necho started >>" + marker + "\nexec /usr/bin/env python3 \"$@\"\n"
			if folder == "LINK" {
				if err := os.Symlink("../../tool", path); err != nil {
					t.Fatal(err)
				}
				path = filepath.Join(b.dir, "tool")
			}
			if err := os.WriteFile(path, []byte(hostile), 0o755); err != nil {
				t.Fatal(err)
			}
			runs := func(says tools.Decision, questions int, starts bool) {
				t.Helper()
				b.says, b.asked = says, nil
				os.Remove(marker)
				if a := b.run("print('hello')"); a.Output != "hello\n" {
					t.Errorf("output %q", a.Output)
				}
				if _, err := os.Stat(marker); (err == nil) != starts {
					t.Errorf("%s: started %v, want %v", says, err == nil, starts)
				}
				if len(b.asked) != questions {
					t.Errorf("%s: asked %v", says, b.asked)
				}
			}
			runs(tools.DecisionDeny, 1, false)
			runs(tools.DecisionDeny, 1, false)
			runs(tools.DecisionOnce, 1, true)
			runs(tools.DecisionDeny, 0, true)
			if err := os.WriteFile(path, []byte(hostile+"# another\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			runs(tools.DecisionDeny, 1, false)
		})
	}
}

// In a sandbox it starts without approval.
func TestInterpreterOfWorkspaceInSandbox(t *testing.T) {
	t.Parallel()
	if m := sandbox.Detect(t.Context()); m.Kind == sandbox.None || m.Kind == sandbox.Unknown {
		t.Skip(m.Reason)
	}
	b := newBed(t, Config{}, map[string]string{".venv/bin/python3": "#!/bin/sh\nexec /usr/bin/env python3 \"$@\"\n"})
	if err := os.Chmod(filepath.Join(b.dir, ".venv", "bin", "python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	box := b.sandboxed(sandbox.Config{Mode: sandbox.WorkspaceWrite, Network: true, Home: t.TempDir()})
	t.Cleanup(box.Close)
	if a := b.run("print('hello')"); a.Output != "hello\n" || len(b.asked) > 0 {
		t.Errorf("output %q, asked %v", a.Output, b.asked)
	}
}
