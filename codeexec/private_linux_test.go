package codeexec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/testdir"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// Where commands share /tmp, a script and its socket lie in Hermes' home, where commands of other
// sessions cannot reach them, and the script runs there as elsewhere.
func TestStagingOutOfReach(t *testing.T) {
	t.Parallel()
	if _, err := landlock.LandlockGetABIVersion(); err != nil {
		testneed.Missing(t, "a Linux kernel with Landlock")
	}
	base := "/var/lib"
	if os.Geteuid() != 0 {
		base, _ = os.UserHomeDir()
	}
	home, err := testdir.Make(testneed.Base(base), "s-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { testdir.Remove(home) }) // a folder of the test
	for _, persist := range []bool{false, true} {
		b := newBed(t, Config{Persist: persist}, scriptFiles)
		box := b.sandboxed(sandbox.Config{
			Mode: sandbox.WorkspaceWrite, Network: true, Home: home, HermesHome: filepath.Join(home, ".hermes"), Environ: b.runner.cfg.Environ,
			Mechanism: &sandbox.Mechanism{Kind: sandbox.Landlock},
		})
		t.Cleanup(box.Close)
		a := b.run("import hermes_tools\nprint(hermes_tools.__file__, hermes_tools.read_file('a.txt')['total_lines'])")
		if !strings.HasPrefix(a.Output, filepath.Join(home, ".hermes/run")) {
			t.Errorf("persist %v: %q %q", persist, a.Output, a.Error)
		}
		b.runner.Close()
		if left, _ := filepath.Glob(filepath.Join(home, ".hermes/run/*")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}
