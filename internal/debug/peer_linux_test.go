package debug

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestMain connects to a socket if a test starts the test binary with its path.
func TestMain(m *testing.M) {
	path := os.Getenv("HERMES_LS_TEST_SOCKET")
	if path == "" {
		os.Exit(m.Run())
	}
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{
		Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", path) },
	}}
	resp, err := client.Get("http://hermes/")
	if err != nil || resp.StatusCode != http.StatusOK {
		os.Exit(3)
	}
	os.Exit(0)
}

// A command in the sandbox runs as the same user. It must not read the pages.
func TestSandboxCannotConnect(t *testing.T) {
	t.Parallel()
	path := filepath.Join(short(t), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, "test", NewMeter())
	defer s.Close()
	for _, inside := range []bool{false, true} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "HERMES_LS_TEST_SOCKET="+path)
		if inside {
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
			}
		}
		err := cmd.Run()
		if cmd.ProcessState == nil {
			t.Skipf("no namespaces here: %v", err)
		}
		if code := cmd.ProcessState.ExitCode(); (code == 0) == inside {
			t.Errorf("in another mount namespace: %t, exit %d", inside, code)
		}
	}
}
