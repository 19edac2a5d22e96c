//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// An editor closes its end and reads no more. The server ends in order, not by a signal, because it
// must clean up.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": "one\n"})
	for _, face := range []string{"serve", "acp"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		server := exec.Command(b.binary, face)
		server.Env, server.Dir, server.Stdout, server.Stderr = b.environ(), b.workspace, write, os.Stderr
		in, err := server.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = write.Close(), read.Close()
		message := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{},"protocolVersion":1}}`
		if face == "serve" {
			message = fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message)
		}
		if _, err := fmt.Fprintln(in, message); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(time.Minute, func() { _ = server.Process.Kill() })
		_ = server.Wait() // the state says how it ended
		late.Stop()
		if status, ok := server.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			t.Errorf("%s was ended by %v", face, status.Signal())
		}
	}
}
