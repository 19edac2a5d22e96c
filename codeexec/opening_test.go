//go:build linux

package codeexec

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// firstOnly approves the first request, and denies the others.
type firstOnly struct{ asked atomic.Bool }

func (f *firstOnly) AskPermission(context.Context, tools.ApprovalRequest) (tools.Decision, error) {
	if f.asked.Swap(true) {
		return tools.DecisionDeny, nil
	}
	return tools.DecisionOnce, nil
}

// An approved script can write the protected files that it names. Processes started by the script
// cannot.
func TestApprovedScriptOpensWhatItNames(t *testing.T) {
	t.Parallel()
	if m := sandbox.Detect(t.Context()).Kind; m != sandbox.Namespaces && m != sandbox.Bubblewrap {
		t.Skip("nothing holds places by mounts here")
	}
	for code, want := range map[string]string{
		"open('.vscode/settings.json', 'w').write('good')":                                                              "good",
		"from pathlib import Path\nPath('.vscode/settings.json').write_text('good')":                                    "good",
		"import subprocess\nprint('.vscode/settings.json')\nsubprocess.run(['sh', 'mk.sh', 'rm -rf'])":                  "{}",
		"import subprocess, mk\ntry: open('.vscode/settings.json', 'w').write('good')\nexcept OSError: pass":            "{}",
		"try: open('.vscode/settings.json', 'w').write('good')\nexcept OSError: pass\nimport os\nos.system('sh mk.sh')": "{}",
	} {
		b := newBed(t, Config{}, map[string]string{".vscode/settings.json": "{}", "mk.sh": "echo evil > .vscode/settings.json", "mk.py": ""})
		home := t.TempDir()
		box := b.sandboxed(sandbox.Config{
			Mode: sandbox.WorkspaceWrite, Network: true, Home: home, HermesHome: home + "/.hermes", Environ: b.runner.cfg.Environ,
		})
		b.env.Gate = gate.New(gate.Config{Mode: "ask", Asker: new(firstOnly)})
		a := b.run(code)
		box.Close()
		if text, err := os.ReadFile(filepath.Join(b.dir, ".vscode/settings.json")); err != nil || strings.TrimSpace(string(text)) != want {
			t.Errorf("%s: %q, %v; %+v", code, text, err, a)
		}
	}
}
