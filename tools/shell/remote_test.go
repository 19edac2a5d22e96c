//go:build linux

package shell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/backend"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

// sshd runs a real server on loopback and returns its configuration.
func sshd(t *testing.T) backend.SSHConfig {
	t.Helper()
	return toolstest.SSHD(t)
}

// podman makes a container engine of this test's own, with an image of busybox.
func podman(t *testing.T) {
	t.Helper()
	testneed.Root(t)
	testneed.Program(t, "runc", "")
	engine, busybox := programPath(t, "podman"), programPath(t, "busybox")
	dir := t.TempDir()
	files := map[string]string{
		"containers.conf": "[containers]\ndefault_ulimits = []\nnetns = \"none\"\nlog_driver = \"k8s-file\"\n[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = \"runc\"\n",
		"storage.conf":    fmt.Sprintf("[storage]\ndriver = \"overlay\"\ngraphroot = \"%s/store\"\nrunroot = \"%s/run\"\n", dir, dir),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CONTAINERS_CONF", filepath.Join(dir, "containers.conf"))
	t.Setenv("CONTAINERS_STORAGE_CONF", filepath.Join(dir, "storage.conf"))
	script := `set -e; mkdir -p img/bin img/tmp img/etc; cp ` + busybox + ` img/bin/busybox
for a in $(img/bin/busybox --list); do [ -e img/bin/$a ] || ln -s busybox img/bin/$a; done
echo root:x:0:0:root:/:/bin/sh >img/etc/passwd; tar -C img -c . | TMPDIR=$PWD ` + engine + ` import - localhost/busybox:test`
	build := exec.Command("sh", "-c", script)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		exec.Command(engine, "rm", "-fa").Run() // none should be there
		for _, p := range []string{"store/overlay", "run"} {
			exec.Command("umount", "-l", filepath.Join(dir, p)).Run() // it may not be mounted
		}
	})
}

// away is a desk whose commands run on a backend.
func away(t *testing.T, c backend.Config) *desk {
	t.Helper()
	d := newDesk(t)
	c.Folders = []string{d.dir}
	b, err := backend.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	d.Shell, d.Env.Gate = NewRemote(b, nil, d.dir), gate.New(gate.Config{Mode: "off"})
	return d
}

// checkAway tests the properties of commands on every backend. sub is a directory there.
func checkAway(t *testing.T, d *desk) {
	t.Helper()
	run := func(args, output string, code float64) map[string]any {
		t.Helper()
		out := d.call(terminalTool(d.Config), args)
		if out["output"] != output || out["exit_code"] != code {
			t.Errorf("%s: %v, want %q and %v", args, out, output, code)
		}
		return out
	}
	run(`{"command":"echo out; echo 'it''s' >&2; exit 3"}`, "out\nits\n", 3)
	run(`{"command":"cd sub; export A='two  words' B='q\"q'; unset PAGER"}`, "", 0)
	out := run(`{"command":"echo \"$A|$B|$PAGER\"; basename \"$PWD\""}`, "two  words|q\"q|\nsub\n", 0)
	if dir, _ := out["cwd"].(string); filepath.Base(dir) != "sub" {
		t.Errorf("%v", out)
	}
	run(`{"command":"basename \"$PWD\"; cd /","workdir":"sub"}`, "sub\n", 0)
	run(`{"command":"(cd /; pwd)"}`, "/\n", 0)
	run(`{"command":"basename \"$PWD\"; cat; false"}`, "sub\n", 1)
	run(`{"command":"printf 'no newline'"}`, "no newline", 0)
	run(`{"command":"test -t 1 && echo terminal","pty":true}`, "terminal\n", 0)

	// After a timeout or a cancel, the remote command ends, too.
	out = d.call(terminalTool(d.Config), `{"command":"echo early; echo $$ >pid; sleep 1000","timeout":10}`)
	if out["output"] != "early\n" || out["timed_out"] != true {
		t.Errorf("%v", out)
	}
	gone := `{"command":"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do kill -0 $(cat pid) 2>/dev/null || break; sleep 0.2; done; kill -0 $(cat pid) 2>/dev/null; echo $?"}`
	run(gone, "1\n", 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d.Progress = func(p tools.Progress) {
		if strings.Contains(p.Shown[0].Text, "begun") {
			cancel()
		}
	}
	if out, _ := runTerminal(ctx, t, d.callEnv, `{"command":"echo $$ >pid; echo begun; sleep 1000"}`); !out.Interrupted || out.Output != "begun\n" {
		t.Errorf("%+v", out)
	}
	d.Progress = nil
	run(gone, "1\n", 0)

	// In the background, with input.
	id := d.start("echo ready; read x; echo got $x; echo $$ >pid; sleep 1000", "")
	d.output(id, "ready")
	d.process(`{"action":"submit","session_id":"%s","data":"word"}`, id)
	d.output(id, "got word")
	if out := d.process(`{"action":"kill","session_id":"%s"}`, id); out["status"] != "killed" {
		t.Errorf("%v", out)
	}
	run(gone, "1\n", 0)
}

func TestTerminalOverSSH(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	c := backend.Config{Kind: "ssh", SSH: sshd(t), Cwd: t.TempDir()}
	if err := os.Mkdir(filepath.Join(c.Cwd, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := away(t, c)
	checkAway(t, d)

	// The connection is lost, and comes back.
	d.call(terminalTool(d.Config), `{"command":"export KEPT=1; kill -9 $PPID; sleep 5"}`)
	if out := d.call(terminalTool(d.Config), `{"command":"echo back"}`); out["output"] != "back\n" {
		t.Errorf("%v", out)
	}
}

func TestTerminalOverSSHFails(t *testing.T) {
	t.Parallel()
	c := backend.Config{Kind: "ssh", SSH: sshd(t)}
	c.SSH.Options = append(c.SSH.Options[1:], "UserKnownHostsFile=/dev/null", "StrictHostKeyChecking=yes")
	d := away(t, c)
	if out := d.call(terminalTool(d.Config), `{"command":"true"}`); !strings.Contains(fmt.Sprint(out["error"]), "Host key verification failed") || !strings.Contains(fmt.Sprint(out["error"]), "without a question") {
		t.Errorf("%v", out)
	}
	d.Shell = NewRemote(nil, fmt.Errorf("no backend: install it"), d.dir)
	for _, args := range []string{`{"command":"true"}`, `{"command":"true","background":true}`} {
		if out := d.call(terminalTool(d.Config), args); !strings.Contains(fmt.Sprint(out["error"]), "no backend: install it") {
			t.Errorf("%v", out)
		}
	}
}

func TestTerminalInAContainer(t *testing.T) {
	testneed.Long(t)
	podman(t)
	d := away(t, backend.Config{Kind: "docker", Program: "podman", Image: "localhost/busybox:test"})
	checkAway(t, d)
	// The workspace is the same there and here, and little else is.
	out := d.call(terminalTool(d.Config), `{"command":"cd ..; echo there >file; cat /etc/passwd; ls /home /root 2>/dev/null; pwd"}`)
	if out["output"] != "root:x:0:0:root:/:/bin/sh\n"+d.dir+"\n" {
		t.Errorf("%v", out)
	}
	if text, err := os.ReadFile(filepath.Join(d.dir, "file")); string(text) != "there\n" {
		t.Errorf("%q, %v", text, err)
	}
	exec.Command("podman", "create", "--label", "org.hermes-ls.session", "--name", "dead", "localhost/busybox:test", "true").Run() // seen below
	exec.Command("podman", "create", "--name", "other", "localhost/busybox:test", "true").Run()                                    // seen below
	again := away(t, backend.Config{Kind: "docker", Program: "podman", Image: "localhost/busybox:test"})
	again.call(terminalTool(again.Config), `{"command":"true"}`)
	if names, _ := exec.Command("podman", "ps", "-a", "--format", "{{.Names}}").Output(); strings.Contains(string(names), "dead\n") || !strings.Contains(string(names), "other\n") {
		t.Errorf("containers: %s", names)
	}
	lost := away(t, backend.Config{Kind: "docker", Program: "podman", Image: "localhost/none:test"})
	if out := lost.call(terminalTool(lost.Config), `{"command":"true"}`); !strings.Contains(fmt.Sprint(out["error"]), "localhost/none") {
		t.Errorf("%v", out)
	}
}

// A folder is an image, too.
func TestTerminalInApptainer(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	apptainer, err := filepath.Abs("../../.cache/hosts/apptainer/run")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(apptainer); err != nil {
		testneed.Missing(t, "Apptainer (e2e/setup/hosts.sh)")
	}
	testneed.Extra(t)
	image := t.TempDir()
	for _, dir := range []string{"bin", "etc", "proc", "sys", "dev", "tmp", "root", "var/tmp"} {
		if err := os.MkdirAll(filepath.Join(image, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	busybox := programPath(t, "busybox")
	script := `set -e; cp ` + busybox + ` bin/busybox; for a in $(bin/busybox --list); do [ -e bin/$a ] || ln -s busybox bin/$a; done
echo root:x:0:0:root:/root:/bin/sh >etc/passwd; touch etc/group etc/hosts etc/resolv.conf etc/localtime`
	build := exec.Command("sh", "-c", script)
	build.Dir = image
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d := away(t, backend.Config{Kind: "singularity", Program: apptainer, Image: image})
	checkAway(t, d)
	lost := away(t, backend.Config{Kind: "singularity", Program: apptainer, Image: filepath.Join(image, "none.sif")})
	if out := lost.call(terminalTool(lost.Config), `{"command":"true"}`); !strings.Contains(fmt.Sprint(out["error"]), "none.sif") {
		t.Errorf("%v", out)
	}
}

func TestCutter(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 3, 1000} {
		var out bytes.Buffer
		w := &cutter{mark: []byte("\nM\n"), to: &out}
		text := []byte("a\nb\r\n\nM\nA=1\n:\n/d\nM\nrest\n\nM\nA=2\r\n:\n/e\nM\n\nMo")
		for len(text) > 0 {
			n := min(size, len(text))
			w.Write(text[:n]) // never fails
			text = text[n:]
		}
		w.end()
		if out.String() != "a\nb\nrest\n\nMo" || string(w.cut) != "A=2\n:\n/e\n" {
			t.Errorf("%d: %q, cut %q", size, &out, w.cut)
		}
	}
}
