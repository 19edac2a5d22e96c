package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
)

// ownBox is the sandbox of a session with a home beside its workspace.
func ownBox(t testing.TB) (box *sandbox.Box, workspace, home string) {
	t.Helper()
	if m := sandbox.Detect(t.Context()); m.Kind == sandbox.None || m.Kind == sandbox.Unknown {
		t.Skip(m.Reason)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace, home = filepath.Join(dir, "ws"), filepath.Join(dir, "home")
	for name, text := range map[string]string{"ws/file": "inside", "home/.ssh/id_test": "secret", "home/.hermes/git/x": "ours"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	box = sandbox.New(sandbox.Config{
		Mode: sandbox.WorkspaceWrite, Network: true, Home: home, HermesHome: filepath.Join(home, ".hermes"), Roots: func() []string { return []string{workspace} },
	})
	t.Cleanup(box.Close)
	return box, workspace, home
}

func ownRun(t testing.TB, box *sandbox.Box, o sandbox.Own, script string) string {
	t.Helper()
	var out bytes.Buffer
	c := proc.Cmd{Args: []string{"/bin/sh", "-c", script}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out}
	if err := box.ConfineOwn(context.Background(), &c, o); err != nil {
		t.Fatal(err)
	}
	if _, err := proc.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A server's own program reads the workspace and its given paths, writes only the given ones, and
// sees no secret.
func TestConfineOwn(t *testing.T) {
	t.Parallel()
	box, workspace, home := ownBox(t)
	look := "cd " + workspace + "; cat file; echo x >file; echo x >new; cat " + home + "/.ssh/id_test " + home + "/.hermes/git/x"
	ownRun(t, box, sandbox.Own{}, look)
	if out := ownRun(t, box, sandbox.Own{}, look); !strings.HasPrefix(out, "inside") || strings.Contains(out, "secret") || strings.Contains(out, "ours") {
		t.Errorf("it saw %s", out)
	}
	given := filepath.Join(home, ".hermes", "git")
	if out := ownRun(t, box, sandbox.Own{Reads: []string{given}}, look+"; echo x >"+given+"/y"); !strings.Contains(out, "ours") || strings.Contains(out, "secret") {
		t.Errorf("it saw %s", out)
	}
	if _, err := os.Stat(filepath.Join(given, "y")); err == nil {
		t.Error("it wrote what it was to read")
	}
	if text, err := os.ReadFile(filepath.Join(workspace, "file")); string(text) != "inside" || err != nil {
		t.Errorf("it wrote %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(workspace, "new")); err == nil {
		t.Error("it made a file")
	}
	sub := filepath.Join(workspace, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	ownRun(t, box, sandbox.Own{Writes: []string{sub}}, look+"; echo x >sub/file")
	if text, err := os.ReadFile(filepath.Join(sub, "file")); string(text) != "x\n" || err != nil {
		t.Errorf("it did not write: %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(workspace, "new")); err == nil {
		t.Error("it made a file beside what it was to write")
	}
}

// A program without write access to the workspace reads the script that the user's settings name,
// with its folder, and not the rest of the home.
func TestReaderSeesItsScript(t *testing.T) {
	t.Parallel()
	box, workspace, home := ownBox(t)
	script := filepath.Join(home, "servers", "main.sh")
	for path, text := range map[string]string{script: ". " + home + "/servers/lib.sh", filepath.Join(home, "servers", "lib.sh"): "echo lib; cat " + home + "/.ssh/id_test " + home + "/.hermes/git/x"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	c := proc.Cmd{Args: []string{"/bin/sh", script}, Dir: workspace, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out, Runs: []string{script}}
	if _, err := box.ConfineReader(t.Context(), &c, "server"); err != nil {
		t.Fatal(err)
	}
	if _, err := proc.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "lib\n") || strings.Contains(got, "secret") || strings.Contains(got, "ours") {
		t.Errorf("it saw %s", got)
	}
}

func BenchmarkConfineOwn(b *testing.B) {
	box, _, _ := ownBox(b)
	ownRun(b, box, sandbox.Own{}, "true")
	for b.Loop() {
		ownRun(b, box, sandbox.Own{}, "true")
	}
}
