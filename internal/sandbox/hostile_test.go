//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/proc/proctest"
	"github.com/hermes-ls/hermes-ls/internal/testdir"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

const canary = "CANARY-XYZZY"

// victim is a small model of a user's machine: a home with secrets, a workspace, files beside it,
// sockets, and a process of the user.
type victim struct {
	t                           *testing.T
	base, home, hermes, ws, out string
	tcp, udp                    string
	heard                       chan string // each message received over UDP
	together                    bool        // commands are started in a holder, as in a session
	process                     *exec.Cmd
	box                         *Box
}

// bases returns a folder that no command sees as temporary. Only the rules for the rest of the
// system protect its content.
func bases() string {
	if os.Geteuid() == 0 {
		return testneed.Base("/var/lib")
	}
	home, _ := os.UserHomeDir()
	if proctest.Again() { // it is a folder of this run
		return home
	}
	return testneed.Base(home)
}

// victims makes the folder of all victims, which TestMain removes. They stay until then: for each
// new file, ext4 passes over all recently deleted files, which took half the time of these tests.
var victims = sync.OnceValues(func() (string, error) { return testdir.Make(bases(), "hv-") })

func removeVictims() {
	if dir, err := victims(); err == nil {
		testdir.Remove(dir) // a folder of the tests
	}
}

// selfName is the copy of the test binary in a workspace.
const selfName = ".self"

func newVictim(t *testing.T, m Mechanism, mode Mode, network bool) *victim {
	t.Helper()
	all, err := victims()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp(all, "*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(filepath.Join(base, "ws", selfName)) }) // most have none
	v := &victim{t: t, base: base, heard: make(chan string, 100)}
	for to, name := range map[*string]string{&v.home: "home", &v.hermes: "home/.hermes", &v.ws: "ws", &v.out: "out"} {
		*to = filepath.Join(base, name)
	}
	for name, text := range map[string]string{
		"home/.ssh/id_ed25519": canary, "home/.aws/credentials": canary, "home/.netrc": canary,
		"home/.npmrc": "//registry/:_authToken=" + canary, "home/.config/gh/hosts.yml": canary,
		"home/.hermes/.env": canary, "home/.hermes/config.yaml": "api_key: " + canary,
		"home/.hermes/skills/one/SKILL.md": "visible", "home/.bashrc": "# start",
		"home/.cache/x": "", "out/file": "precious", "ws/a.txt": "text",
		"ws/.vscode/settings.json": "{}", "ws/.envrc": "# direnv",
	} {
		v.write(name, text)
	}
	v.host("git", "init", "-q", v.ws)
	v.write("ws/.git/hooks/pre-push", "#!/bin/sh\n")
	v.listen()
	v.process = exec.Command("sleep", "1000")
	if err := v.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.process.Process.Kill(); v.process.Wait() }) // a process of the test
	v.box = New(Config{
		Mode: mode, Network: network, Roots: func() []string { return []string{v.ws} },
		Home: v.home, HermesHome: v.hermes, Visible: []string{filepath.Join(v.hermes, "skills")},
		Environ: []string{"DOCKER_HOST=unix://" + filepath.Join(base, "docker.sock"), "SECRET_KEY=" + canary,
			"XDG_CONFIG_HOME=" + filepath.Join(base, "xdg"), "GIT_CONFIG_GLOBAL=" + filepath.Join(base, "global")},
		Mechanism: &m,
	})
	v.box.sockets = func() []string { // sockets of other tests close during this test
		return slices.DeleteFunc(openSockets(), func(path string) bool { return !fspath.Under(path, base) })
	}
	t.Cleanup(v.box.Close)
	return v
}

func (v *victim) write(name, text string) {
	v.t.Helper()
	path := filepath.Join(v.base, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
}

// host runs a program outside the sandbox.
func (v *victim) host(args ...string) {
	v.t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		v.t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// listen opens sockets out of a command's reach.
func (v *victim) listen() {
	for _, path := range []string{filepath.Join(v.base, "docker.sock"), "@" + v.base} {
		l, err := net.Listen("unix", path)
		if err != nil {
			v.t.Fatal(err)
		}
		v.t.Cleanup(func() { l.Close() }) // a socket of the test
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { l.Close() }) // a socket of the test
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { p.Close() }) // a socket of the test
	v.tcp, v.udp = l.Addr().String(), p.LocalAddr().String()
	go func() {
		buf := make([]byte, 100)
		for {
			n, _, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			v.heard <- string(buf[:n])
		}
	}()
}

// run runs a script like a command of the model, without a user: changes requiring approval are
// undone.
func (v *victim) run(script string) string {
	v.t.Helper()
	watch := watching(v.box)
	out := v.start(script)
	changes, done := watch.Changes()
	if err := errors.Join(watch.Remove(v.t.Context(), changes)...); err != nil {
		v.t.Error(err)
	}
	done()
	watch.End()
	return out
}

// start runs a script without a review, like a still running background command.
func (v *victim) start(script string) string {
	v.t.Helper()
	self, err := os.Executable()
	if err != nil {
		v.t.Fatal(err)
	}
	binary := filepath.Join(v.ws, selfName)
	if _, err := os.Stat(binary); err != nil && strings.Contains(script, "$ATTACK") { // it is large, and git would store it
		v.host("cp", self, binary)
	}
	var out bytes.Buffer
	c := proc.Cmd{
		Args: []string{"/bin/sh", "-c", script}, Dir: v.ws, Stdout: &out, Stderr: &out, Together: v.together,
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + v.home, "WS=" + v.ws, "OUT=" + v.out, "BASE=" + v.base,
			"HERMES=" + v.hermes, "TCP=" + v.tcp, "UDP=" + v.udp, "ATTACK=" + binary + " " + attack,
			fmt.Sprintf("SERVER=%d", os.Getpid()), "INIT=" + v.init(), fmt.Sprintf("OTHER=%d", v.process.Process.Pid),
		},
	}
	if err := v.box.Confine(v.t.Context(), &c); err != nil {
		v.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(v.t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := proc.Run(ctx, c); err != nil && !strings.Contains(script, "kill -9 $PPID") {
		v.t.Errorf("%v\n%s", err, out.String())
	}
	return out.String()
}

// init returns the process attacked as the first of all: the init process of the command's
// namespace. Without a namespace it is the server, since no test attacks the machine's init.
func (v *victim) init() string {
	if m := v.box.cfg.Mechanism; m.Processes {
		return "1"
	}
	return fmt.Sprint(os.Getpid())
}

func (v *victim) has(name, text string) bool {
	got, err := os.ReadFile(filepath.Join(v.base, name))
	return err == nil && strings.Contains(string(got), text)
}

// kept reports whether a protected file is as it was. Landlock holds none: there, its
// replacement by a command must have no effect.
func (v *victim) kept(name, text string) bool {
	if v.box.cfg.Mechanism.Kind == Landlock && v.lacks(name) {
		return true
	}
	return v.has(name, text)
}

func (v *victim) lacks(name string) bool {
	_, err := os.Lstat(filepath.Join(v.base, name))
	return os.IsNotExist(err)
}

// letter is the letter of a mechanism. The table lists the letters of the mechanisms under which an
// attack succeeds, as documented. n: namespaces, N: namespaces without a PID namespace, b:
// bubblewrap, l: Landlock, o: none at all (sandbox.mode off), where only the approval gate stands
// before a command.
func (m Mechanism) letter(mode Mode) string {
	switch {
	case mode == Off:
		return "o"
	case m.Kind == Bubblewrap:
		return "b"
	case m.Kind == Landlock:
		return "l"
	case m.Processes:
		return "n"
	}
	return "N"
}

var hostile = []struct {
	name   string
	script string
	// held checks the output and the machine afterwards. Nil: the output contains neither the
	// canary nor the word "broken".
	held func(v *victim, out string) bool
	open string // see letter
}{
	// Secrets.
	{name: "an ssh key", script: `cat ~/.ssh/id_ed25519`, open: "o"},
	{name: "all of the home", script: `grep -rs CANARY ~ ; cat ~/.netrc ~/.npmrc ~/.aws/credentials ~/.config/gh/hosts.yml`, open: "o"},
	{name: "our own keys", script: `cat $HERMES/.env $HERMES/config.yaml`, open: "o"},
	{name: "a link to a secret", script: `ln -s ~/.ssh/id_ed25519 l; cat l; ln -s ~ h; cat h/.netrc`, open: "o"},
	{name: "a hard link to a secret", script: `ln ~/.netrc l && cat l`, open: "o"},
	{name: "a secret by another root", script: `for p in self $INIT $PPID $SERVER $OTHER; do cat /proc/$p/root$HOME/.netrc /proc/$p/cwd/../home/.netrc; done; true`, open: "o"},
	{name: "a secret moved into the workspace", script: `mv ~/.ssh s; cat s/*`, open: "o", held: func(v *victim, out string) bool {
		return !strings.Contains(out, canary) && v.has("home/.ssh/id_ed25519", canary)
	}},
	{name: "the environment of others", script: `for p in $SERVER $INIT $PPID; do cat /proc/$p/environ; done | tr '\0' '\n' | grep CANARY`},
	{name: "the memory of the server", script: `for p in $SERVER $INIT; do dd if=/proc/$p/mem of=/dev/null bs=1 count=1 2>/dev/null && echo broken; $ATTACK ptrace $p; done`},
	{name: "a process of the user", script: `kill -9 $OTHER; $ATTACK ptrace $OTHER`, open: "o", held: func(v *victim, out string) bool {
		return v.process.Process.Signal(syscall.Signal(0)) == nil && !zombie(v.process.Process.Pid) && !strings.Contains(out, "broken")
	}},
	{name: "the supervisor killed", script: `kill -9 $PPID; for i in $(seq 200); do kill -0 $PPID || break; sleep 0.05; done; echo x > $OUT/new; exit 0`, held: func(v *victim, _ string) bool { return v.lacks("out/new") }},
	// Writes.
	{name: "a write outside", script: `echo x > $OUT/new; echo x >> $OUT/file; rm -f $OUT/file; mv $OUT/file .; truncate -s0 $OUT/file; ln -f a.txt $OUT/file`, open: "o", held: safe},
	{name: "a write by a link", script: `ln -s $OUT l; echo x > l/new; ln -s $OUT/file f; echo x > f; cp -f a.txt f; sed -i s/p/x/ f; rm -f l/file`, open: "o", held: safe},
	{name: "a write by /proc", script: `cd $OUT; for p in self $PPID $INIT $SERVER $OTHER; do echo x > /proc/$p/root$OUT/new; echo x > /proc/$p/cwd/new; done; exec 3<$OUT/file; echo x > /proc/self/fd/3`, open: "o", held: safe},
	{name: "start files", script: `echo x >> ~/.bashrc; mkdir -p ~/.config/autostart && echo x > ~/.config/autostart/x; echo x > ~/.bash_profile`, open: "o", held: func(v *victim, _ string) bool {
		return v.has("home/.bashrc", "# start") && !v.has("home/.bashrc", "x") && v.lacks("home/.config/autostart") && v.lacks("home/.bash_profile")
	}},
	{name: "our own skills", script: `echo x >> $HERMES/skills/one/SKILL.md; cat $HERMES/skills/one/SKILL.md`, open: "o", held: func(v *victim, out string) bool {
		return strings.Contains(out, "visible") && !strings.Contains(out, "visiblex")
	}},
	{name: "modes and times outside", script: `chmod 640 $OUT/file; touch -d 2001-01-01 $OUT/file; python3 -c "import os; os.utime('$OUT/file', (1, 1))"`, open: "lo", held: func(v *victim, _ string) bool {
		info, err := os.Stat(filepath.Join(v.out, "file"))
		return err == nil && info.Mode().Perm() == 0o600 && time.Since(info.ModTime()) < time.Hour
	}},
	// Mounts and namespaces.
	{name: "mounts taken off", script: `umount ~/.ssh; umount -l ~/.ssh; umount -l ~; cat ~/.ssh/id_ed25519; mount -o remount,rw,bind /; mount -o remount,rw /; echo x > $OUT/new`, open: "o", held: safeAndSecret},
	{name: "namespaces within", script: `unshare -Urm sh -c 'umount -l ~/.ssh; umount -l ~/.netrc; cat ~/.ssh/id_ed25519 ~/.netrc; mount -o remount,rw,bind /; mount -o remount,rw,bind $OUT; echo x > $OUT/new; mount -t tmpfs x /mnt && mount --rbind / /mnt && cat /mnt$HOME/.netrc'; unshare -Urmpf --mount-proc cat /proc/self/root$HOME/.netrc; unshare -Ur sh -c "chroot / cat $HOME/.netrc"`, open: "o", held: safeAndSecret},
	{name: "other namespaces entered", script: `for p in $SERVER $OTHER $PPID $INIT; do nsenter -t $p -m cat $HOME/.netrc; nsenter -t $p -U -m -p cat $HOME/.netrc; done`, held: safeAndSecret},
	{name: "the kernel's settings", script: `for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sysrq-trigger /sys/kernel/uevent_helper /sys/kernel/mm/ksm/run; do ( : >> $f ) 2>/dev/null && echo "broken $f"; done; true`, open: rootOnly("o")},
	{name: "disks", script: `for d in /dev/*; do [ -b "$d" ] && [ -r "$d" ] && head -c1 "$d" >/dev/null && echo "broken $d"; done; mknod d b 1 0 && head -c1 d && echo broken; true`, open: rootOnly("o")},
	// Sockets.
	{name: "a container engine's socket", script: `$ATTACK connect $BASE/docker.sock`, open: "lo"},
	{name: "a socket by another root", script: `for p in self $INIT $PPID $OTHER; do $ATTACK connect /proc/$p/root$BASE/docker.sock; done`, open: "lo"},
	{name: "an abstract socket", script: `$ATTACK connect @$BASE`, open: "o"},
	{name: "sockets of the host's and of the wire", script: trySocket(40, 1) + trySocket(40, 2) + trySocket(17, 2) + trySocket(17, 3) + trySocket(2, 3) + trySocket(10, 3) + trySocket(38, 5) + trySocket(44, 3), open: "o"},
	{name: "raw sockets of a network of one's own", script: `unshare -Urn ` + trySocket(17, 3) + `unshare -Urn ` + trySocket(2, 3) + `unshare -Urn ` + trySocket(2, 10), open: "o"},
	// Persistent attacks in a repository.
	{name: "a git hook", script: `echo x > .git/hooks/pre-commit; echo x > .git/hooks/pre-push; chmod +x .git/hooks/*`, open: "o", held: hooked},
	{name: "git hooks moved", script: `mv .git/hooks .git/h; mkdir .git/hooks; echo x > .git/hooks/pre-commit`, open: "o", held: hooked},
	{name: "git hooks linked", script: `mkdir h; echo x > h/pre-commit; rm -rf .git/hooks; ln -s ../h .git/hooks`, open: "o", held: hooked},
	{name: "the repository moved", script: `cp -r .git g; mv .git old; mv g .git; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit`, open: "o", held: hooked},
	{name: "an editor's settings", script: `echo x > .vscode/settings.json; mv .vscode v; mkdir -p .vscode; echo x > .vscode/tasks.json; mkdir -p .idea/a; echo x > .idea/a/b; mkdir .hermes; echo x > .hermes/config.yaml`, open: "o", held: func(v *victim, _ string) bool {
		return v.kept("ws/.vscode/settings.json", "{}") && v.lacks("ws/.vscode/tasks.json") && v.lacks("ws/.idea") && v.lacks("ws/.hermes")
	}},
	{name: "a shell's settings", script: `echo x > .envrc; rm -f .envrc; echo x > .envrc; echo x > n; mv n .envrc; ln -sf n .nvim.lua`, open: "o", held: func(v *victim, _ string) bool {
		return v.kept("ws/.envrc", "# direnv") && v.lacks("ws/.nvim.lua")
	}},
	{name: "git settings", script: `git config core.fsmonitor ./x; git config --add alias.st '!x'; printf '[Filter "a"]clean=x\n[core] hooksPath = h ; c\n' >> .git/config; git config user.name me`, open: "o", held: func(v *victim, _ string) bool {
		out, _ := exec.Command("git", "config", "--file", v.ws+"/.git/config", "--list").Output()
		for _, bad := range []string{"core.fsmonitor", "alias.st", "filter.a.clean", "core.hookspath"} {
			if strings.Contains(string(out), bad) {
				return false
			}
		}
		return true
	}},
	{name: "a repository below", script: `git init -q sub; mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/post-merge; git -C sub config core.sshCommand x; git init -q s2`, open: "o", held: func(v *victim, _ string) bool {
		return v.lacks("ws/sub/.git/hooks/post-merge") && !v.has("ws/sub/.git/config", "ommand") && !v.lacks("ws/s2/.git/config")
	}},
	{name: "the folder for temporary files", script: `echo x > /tmp/hermes-hostile-$OTHER; ls /tmp`, open: "lo", held: func(v *victim, out string) bool {
		left := fmt.Sprintf("/tmp/hermes-hostile-%d", v.process.Process.Pid)
		_, err := os.Stat(left)
		os.Remove(left) // it should not be there
		return os.IsNotExist(err) && strings.TrimSpace(out) == filepath.Base(left)
	}},
}

// trySocket tries to make a socket of a family and a type.
func trySocket(family, kind int) string { return fmt.Sprintf("$ATTACK socket %d %d; ", family, kind) }

func safe(v *victim, _ string) bool {
	return v.lacks("out/new") && v.has("out/file", "precious") && !v.has("out/file", "x")
}

func safeAndSecret(v *victim, out string) bool {
	return safe(v, out) && !strings.Contains(out, canary)
}

func hooked(v *victim, _ string) bool {
	return v.lacks("ws/.git/hooks/pre-commit") && v.kept("ws/.git/hooks/pre-push", "#!/bin/sh\n")
}

// rootOnly returns letters for attacks possible only as root: other users lack the right.
func rootOnly(letters string) string {
	if os.Geteuid() == 0 {
		return letters
	}
	return ""
}

func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

// tried returns the working mechanisms of this host, and a text about each.
var tried = sync.OnceValues(func() (all []Mechanism, texts []string) {
	for _, m := range candidates() {
		err := m.Try(context.Background())
		texts = append(texts, fmt.Sprintf("%s, processes %v: %v", m.Kind, m.Processes, err))
		if err == nil {
			all = append(all, m)
		}
	}
	return all, texts
})

// here returns the mechanisms of this host after trying each.
func here(t *testing.T) []Mechanism {
	t.Helper()
	all, texts := tried()
	t.Log(strings.Join(texts, "; "))
	return slices.Clone(all)
}

// TestHostile tries every attack against every mechanism, and against none. It also fails if an
// attack listed as open does not succeed.
func TestHostile(t *testing.T) {
	testneed.Long(t)
	if len(here(t)) == 0 {
		t.Error("nothing on this host enforces anything, so nothing was tried")
	}
	for _, m := range append(here(t), Mechanism{Kind: None}) {
		mode := WorkspaceWrite
		if m.Kind == None {
			mode = Off
		}
		t.Run(m.letter(mode)+" "+string(m.Kind), func(t *testing.T) {
			t.Parallel()
			for _, tt := range hostile {
				t.Run(tt.name, func(t *testing.T) {
					t.Parallel()
					v := newVictim(t, m, mode, true)
					out := v.run(tt.script)
					held := tt.held
					if held == nil {
						held = func(_ *victim, out string) bool {
							return !strings.Contains(out, canary) && !strings.Contains(out, "broken")
						}
					}
					if got, want := held(v, out), !strings.Contains(tt.open, m.letter(mode)); got != want {
						t.Errorf("held: %v, want %v\n%s", got, want, out)
					}
				})
			}
		})
	}
}

// Under each mechanism, a command has only root's capabilities for ordinary work.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	allowed := []int{
		unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_AUDIT_WRITE,
		unix.CAP_KILL, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_SETFCAP,
	}
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			lines := 0
			for line := range strings.Lines(newVictim(t, m, WorkspaceWrite, true).run(`grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb)" /proc/self/status`)) {
				name, text, _ := strings.Cut(line, ":\t")
				if name == "CapBnd" && os.Geteuid() != 0 {
					lines++ // of no use without a way to get any
					continue
				}
				has, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				lines++
				for c := range 64 {
					if has&(1<<c) != 0 && !slices.Contains(allowed, c) {
						t.Errorf("%s has capability %d", name, c)
					}
				}
			}
			if lines != 5 {
				t.Errorf("%d sets of capabilities", lines)
			}
		})
	}
}

func TestReadOnlyMode(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		t.Run(m.letter(ReadOnly), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, ReadOnly, true)
			out := v.run(`cat a.txt; echo x > new; rm -f a.txt; echo t > /tmp/t-$OTHER && cat /tmp/t-$OTHER && rm /tmp/t-$OTHER; echo x > ~/.cache/y`)
			if !strings.Contains(out, "text") || !strings.Contains(out, "t\n") || !v.lacks("ws/new") || !v.has("ws/a.txt", "text") || !v.lacks("home/.cache/y") {
				t.Error(out)
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	const script = `$ATTACK tcp $TCP; $ATTACK udp $UDP; $ATTACK loopback > l; cat l`
	for _, m := range here(t) {
		for _, on := range []bool{true, false} {
			t.Run(fmt.Sprint(m.letter(WorkspaceWrite), on), func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, m, WorkspaceWrite, on)
				out := v.run(script)
				reached := strings.Contains(strings.Split(out, "\n")[0], "broken")
				const last = "of the test" // arrives after all messages of the command
				if c, err := net.Dial("udp", v.udp); err != nil {
					t.Error(err)
				} else {
					_, err = c.Write([]byte(last))
					if err := errors.Join(err, c.Close()); err != nil {
						t.Error(err)
					}
				}
				heard := false
				for message := <-v.heard; message != last; message = <-v.heard {
					heard = true
				}
				if reached != on || heard != on {
					t.Errorf("network %v: tcp %v, udp %v\n%s", on, reached, heard, out)
				}
				if loop := v.has("ws/l", "broken"); loop != (on || m.Kind != Landlock) {
					t.Errorf("network %v: talking to oneself %v", on, loop)
				}
			})
		}
	}
}

// Daily work succeeds.
func TestDailyWork(t *testing.T) {
	t.Parallel()
	const script = `set -e
git config user.email a@b; git config user.name n; git add a.txt; git commit -qm one; git checkout -qb b; echo y >> a.txt; git commit -qam two; git checkout -q -; git merge -q b; git stash list; git gc -q; git worktree add -q wt; git clone -q . clone
mkdir -p d/e && mv a.txt d/e/ && ln d/e/a.txt hard && mv d/e/a.txt a.txt && rm -r d hard
echo x > "${XDG_CACHE_HOME:-$HOME/.cache}/new"
echo t > /tmp/t-$OTHER; test -n "$(cat /tmp/t-$OTHER)"; rm /tmp/t-$OTHER; mktemp -d | xargs rmdir
echo n > /dev/null; head -c4 /dev/urandom | wc -c; cat /proc/self/status >/dev/null; ls / >/dev/null; ls ~ >/dev/null
(sleep 0.01 & wait); cat /etc/resolv.conf >/dev/null 2>&1 || test ! -e /etc/resolv.conf; id >/dev/null; date >/dev/null
echo all`
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			v.box = v.box.With(Opening{Open: []string{filepath.Join(v.ws, ".git", "config")}})
			if out := v.run(script); !strings.HasSuffix(out, "all\n") {
				t.Error(out)
			}
			if out := v.run(`cat "${XDG_CACHE_HOME:-$HOME/.cache}/new"`); out != "x\n" || !v.lacks("home/.cache/new") {
				t.Errorf("the cache was not kept, or is the user's: %q", out)
			}
		})
	}
}

// In a folder of a repository, and in a worktree, git writes outside of the root.
func TestCommitOutside(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			git := func(args ...string) {
				v.host(append([]string{"git", "-C", v.ws, "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
			}
			git("add", "a.txt")
			git("commit", "-qm", "one")
			git("worktree", "add", "-q", filepath.Join(v.base, "tree"))
			v.write("ws/sub/b.txt", "b")
			for _, root := range []string{filepath.Join(v.ws, "sub"), filepath.Join(v.base, "tree")} {
				v.box.cfg.Roots = func() []string { return []string{root} }
				out := v.run(`cd ` + root + ` && echo y > new && git add new && git -c user.name=n -c user.email=e commit -qm two && echo committed; echo x > ` + v.ws + `/.git/hooks/pre-commit; echo x > ` + v.ws + `/outside`)
				if !strings.Contains(out, "committed") || !hooked(v, "") {
					t.Errorf("%s: %s", root, out)
				}
				if !v.lacks("ws/outside") {
					t.Error("a write beside the root")
				}
			}
			// A .git file names a folder with no reference back.
			v.write("forged/.git", "gitdir: "+v.out)
			v.write("out/HEAD", "ref: x")
			v.box.cfg.Roots = func() []string { return []string{filepath.Join(v.base, "forged"), v.ws} }
			if out := v.run(`echo x > $OUT/new; true`); !v.lacks("out/new") {
				t.Error("a forged .git opened another folder", out)
			}
		})
	}
}

func TestSessionsTemp(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		if m.Kind == Landlock {
			continue // /tmp is shared there, which Lacks reports
		}
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			v.run(`echo kept > /tmp/one`)
			if out := v.run(`cat /tmp/one; ls /var/tmp/one`); out != "kept\n/var/tmp/one\n" {
				t.Errorf("%q", out)
			}
			extra := t.TempDir() // in /tmp
			var out bytes.Buffer
			c := proc.Cmd{Args: []string{"/bin/sh", "-c", "echo x > " + extra + "/x && cat " + extra + "/x"}, Dir: extra, Stdout: &out, Stderr: &out}
			if err := v.box.Confine(t.Context(), &c, extra); err != nil {
				t.Fatal(err)
			}
			if _, err := proc.Run(t.Context(), c); err != nil || out.String() != "x\n" {
				t.Errorf("a folder in /tmp: %q, %v", out.String(), err)
			}
			dir := v.box.temp.dir.Path()
			v.box.Close()
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Error("it is left:", err)
			}
		})
	}
}
