//go:build unix

package codeexec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
)

// serverWord as an argument turns the test binary into a server for a single script. Tests can kill
// it, run it as another user, and give it secrets.
const serverWord = "stand-in-server"

// sandboxWord in its environment makes the stand-in use the sandbox.
const sandboxWord = "STAND_IN_SANDBOX"

// canary is a secret of the stand-in that no script may get. It is joined at run time, so the
// program file does not contain it.
var canary = strings.Join([]string{"XYZZY", "CANARY"}, "-")

// serveStandIn runs the script in code, in the workspace folder dir. It prints the output of
// the script while it runs, and then its result.
func serveStandIn(dir, code string) int {
	fail := func(err error) int { fmt.Fprintln(os.Stderr, err); return 1 }
	if err := proc.Harden(); err != nil {
		return fail(err)
	}
	text, err := os.ReadFile(code)
	if err != nil {
		return fail(err)
	}
	b, err := openBed(dir, filepath.Join(dir, "out"), Config{})
	if err != nil {
		return fail(err)
	}
	if os.Getenv(sandboxWord) != "" {
		box := b.sandboxed(sandbox.Config{
			Mode: sandbox.WorkspaceWrite, Network: true, HermesHome: filepath.Join(dir, ".hermes"),
		})
		defer box.Close()
	}
	b.env.Progress = func(p tools.Progress) {
		if len(p.Shown) == 2 {
			fmt.Println(p.Shown[1].Text)
		}
	}
	args, err := json.Marshal(map[string]any{"code": string(text)})
	if err != nil {
		return fail(err)
	}
	result, _ := b.set.Call(context.Background(), b.env, tools.Call{ID: "c1", Name: "execute_code", Args: args})
	b.close()
	fmt.Printf("RESULT %s\n", result.JSON)
	return 0
}

// printed is the output of a stand-in so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// wait waits for a line with want in it, and returns the line.
func (p *printed) wait(t *testing.T, want string) (line string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q was printed", want), func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		before, after, ok := strings.Cut(p.text.String(), want)
		rest, _, _ := strings.Cut(after, "\n")
		line = before[strings.LastIndex(before, "\n")+1:] + want + rest
		return ok
	})
	return line
}

// startStandIn starts a stand-in that runs code as user uid; 0 is the user of the tests.
func startStandIn(t *testing.T, uid int, code string, environ ...string) (*exec.Cmd, *printed) {
	t.Helper()
	dir, err := os.MkdirTemp("", "standin-") // not below a folder of ours, which others may not enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "code.py")
	if err := os.WriteFile(script, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, serverWord, ws, script)
	cmd.Env = append(plainEnviron(), "DATABASE_URL="+canary, "SLACK_WEBHOOK="+canary, "OPENAI_API_KEY="+canary, "HARMLESS="+canary)
	cmd.Env = append(cmd.Env, environ...)
	if uid != 0 {
		cmd.Path = copyFor(t, dir, binary)
		cmd.Env = append(cmd.Env, "HOME="+ws, "PATH=/usr/local/bin:/usr/bin:/bin")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		for _, path := range []string{dir, ws} {
			if err := os.Chown(path, uid, uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := &printed{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // no effect on an ended process
	return cmd, out
}

// copyFor copies the test binary to a path where another user can run it.
func copyFor(t *testing.T, dir, binary string) string {
	t.Helper()
	from, err := os.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	// A process started meanwhile by another test would hold the file open for writing, and it
	// could not be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	to, err := os.OpenFile(filepath.Join(dir, "server"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return to.Name()
}

// runStandIn runs code to its end.
func runStandIn(t *testing.T, uid int, code string, environ ...string) answer {
	t.Helper()
	cmd, out := startStandIn(t, uid, code, environ...)
	timer := time.AfterFunc(maxWait, func() { cmd.Process.Kill() }) // Wait reports it
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the stand-in: %v\n%s", err, out.text.String())
	}
	_, result, ok := strings.Cut(out.text.String(), "RESULT ")
	var a answer
	if err := json.Unmarshal([]byte(result), &a); err != nil || !ok {
		t.Fatalf("the stand-in printed %s", out.text.String())
	}
	return a
}
