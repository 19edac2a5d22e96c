package toolstest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// SSHD runs a real ssh server on loopback until the test ends, and returns its configuration. Its
// machine is the local machine.
func SSHD(t *testing.T) backend.SSHConfig {
	t.Helper()
	const server = "/usr/sbin/sshd"
	keygen := testneed.Program(t, "ssh-keygen", "openssh-client")
	testneed.Program(t, "ssh", "openssh-client")
	testneed.Program(t, server, "openssh-server")
	dir := t.TempDir()
	for _, name := range []string{"host", "user"} {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if os.Geteuid() == 0 {
		os.MkdirAll("/run/sshd", 0o755) // sshd requires it
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close() // only its number was wanted
	host, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	known := fmt.Sprintf("[127.0.0.1]:%d %s", port, host)
	config := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nUsePAM no\nStrictModes no\nPidFile none\nPermitRootLogin yes\nSubsystem sftp internal-sftp\nAcceptEnv none\n", port, dir, dir)
	for name, text := range map[string]string{"known": known, "config": strings.Replace(config, "AcceptEnv none\n", "", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	daemon := exec.Command(server, "-D", "-e", "-f", filepath.Join(dir, "config"))
	var log bytes.Buffer
	daemon.Stderr = &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		daemon.Process.Kill() // it may be gone
		daemon.Wait()         // it was killed
		if t.Failed() {
			t.Logf("sshd: %s", &log)
		}
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close() // it answers
			break
		}
		if time.Now().After(end) {
			t.Fatalf("sshd does not listen: %v", err)
		}
	}
	return backend.SSHConfig{
		Host: "127.0.0.1", Port: port, Key: filepath.Join(dir, "user"),
		Options: []string{"UserKnownHostsFile=" + filepath.Join(dir, "known"), "GlobalKnownHostsFile=/dev/null", "IdentitiesOnly=yes"},
	}
}
