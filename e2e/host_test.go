//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// root is the checkout; tests run in e2e.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// bed is a test's environment: a home with the embedded model, and a workspace.
type bed struct {
	binary, home, workspace string
	link                    string // to the program, of this test alone
	server                  string // what hosts start; its command line has link
	report                  string // where the host writes its report, as JSON
}

func newBed(t *testing.T, files map[string]string) bed {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := bed{
		binary:    filepath.Join(root(t), "bin", "hermes-ls"),
		home:      filepath.Join(dir, "hermes"),
		workspace: filepath.Join(dir, "ws"),
		report:    filepath.Join(dir, "report.json"),
		link:      filepath.Join(dir, "bin", "hermes-ls"),
	}
	if _, err := os.Stat(b.binary); err != nil {
		t.Fatalf("the program is not built: %v; run `make build`", err)
	}
	b.server = b.link
	if err := os.Mkdir(filepath.Dir(b.link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.binary, b.link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.waitForServers(t) })
	write(t, filepath.Join(b.home, "config.yaml"), "model: {provider: embedded}\n")
	for name, text := range files {
		write(t, filepath.Join(b.workspace, name), text)
	}
	return b
}

// waitForServers waits until no process uses the home, so it can be removed: an editor may end
// before its server. Servers hide their environment from other processes of the user, not their
// command line.
func (b bed) waitForServers(t *testing.T) {
	uses := func(pattern, text string) bool {
		files, _ := filepath.Glob(pattern)
		return slices.ContainsFunc(files, func(file string) bool {
			content, _ := os.ReadFile(file) // of another user, or gone
			return bytes.Contains(content, []byte(text+"\x00"))
		})
	}
	waitFor(t, "the end of all processes of the home "+b.home, func() bool {
		return !uses("/proc/[0-9]*/cmdline", b.link) && !uses("/proc/[0-9]*/environ", "HERMES_HOME="+b.home)
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// environ is the environment of a host and its servers.
func (b bed) environ() []string {
	return append(os.Environ(),
		"HOME="+filepath.Dir(b.home), "XDG_CONFIG_HOME="+b.home+"/xdg", "XDG_DATA_HOME="+b.home+"/xdg",
		"XDG_STATE_HOME="+b.home+"/xdg", "XDG_CACHE_HOME="+b.home+"/xdg",
		"HERMES_HOME="+b.home, "HERMES_BIN="+b.server, "HERMES_WS="+b.workspace, "HERMES_REPORT="+b.report)
}

// run starts a host and waits for its end; the host's own words are shown on failure.
func (b bed) run(t *testing.T, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = b.workspace
	cmd.Env = b.environ()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(program), err, out.Bytes())
	}
	t.Logf("%s said:\n%s", filepath.Base(program), out.Bytes())
}

// read takes the host's report.
func (b bed) read(t *testing.T, into any) {
	t.Helper()
	data, err := os.ReadFile(b.report)
	if err != nil {
		t.Fatalf("the host wrote no report: %v", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("the report is no JSON: %v\n%s", err, data)
	}
}

// host returns a program installed by setup/hosts.sh from another Debian release.
func host(t *testing.T, name string) string {
	t.Helper()
	return installed(t, hostNames[name], name, "run")
}

// hostNames are the names of the programs of host.
var hostNames = map[string]string{"nvim-0.10": "Neovim 0.10", "nvim-0.12": "Neovim 0.12", "helix": "Helix", "kakoune": "Kakoune"}

// installed returns the path of a file in .cache/hosts, installed by setup/hosts.sh. If the file is
// missing, the test needs its program.
func installed(t *testing.T, what string, path ...string) string {
	t.Helper()
	return needed(t, what, filepath.Join(append([]string{root(t), ".cache", "hosts"}, path...)...))
}

// needed returns a path made by setup/hosts.sh. If the path is missing, the test needs its program.
func needed(t *testing.T, what, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		testneed.Missing(t, what+" (e2e/setup/hosts.sh)")
	}
	testneed.Extra(t)
	return path
}

// packages are the Debian packages of programs with a different name.
var packages = map[string]string{
	"node": "nodejs", "emacs": "emacs-nox", "pgrep": "procps", "dbus-run-session": "dbus-daemon", "gnome-keyring-daemon": "gnome-keyring", "dbus-send": "dbus-bin",
	"unshare": "util-linux", "mvn": "maven",
}

// found returns the path of an installed program.
func found(t *testing.T, program string) string {
	t.Helper()
	return testneed.Program(t, program, packages[program])
}
