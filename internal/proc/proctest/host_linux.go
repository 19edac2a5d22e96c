package proctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// Host is a machine with more restrictions than this machine. The zero Host has no more.
type Host struct {
	NoUserNamespaces bool // user.max_user_namespaces is 0
	NoLandlock       bool // the kernel does not know its system calls
	Docker           bool // Docker's capabilities and its filter of system calls
	NoBubblewrap     bool // it is not installed; else as on this machine
	SetUIDBubblewrap bool // it is installed with the set-uid bit
	Root             bool // programs run as root, not as an ordinary user
}

// enter is the first argument of a test binary to become a process of a host.
const enter = "enter-host"

// Command is a command on the host, in the folder of the running test. TestMain has to
// call [Enter]. Only root can make a host.
func (h Host) Command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	testneed.Root(t)
	u := NewUser(t)
	cmd := exec.CommandContext(t.Context(), u.Bin, append([]string{enter, h.encode(u)}, args...)...)
	cmd.Env = u.Environ()
	cmd.Env = append(cmd.Env, "PATH="+h.path(t, u))
	if h.Root {
		cmd.Env = append(cmd.Env, "USER=root", "LOGNAME=root")
	}
	if h.NoUserNamespaces { // the setting belongs to a user namespace, so it gets a new one
		all := []syscall.SysProcIDMap{{Size: 1<<32 - 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: all, GidMappings: all, GidMappingsEnableSetgroups: true}
	}
	return cmd
}

// Tests runs this test binary's tests matching pattern on the host. It fails if a test fails or
// none matches.
func (h Host) Tests(t *testing.T, pattern string, env ...string) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := h.Command(t)
	// The copy is runnable for the user, under the name of this binary.
	cmd.Args = append(cmd.Args, filepath.Join(filepath.Dir(cmd.Path), filepath.Base(binary)))
	cmd.Env = append(cmd.Env, env...)
	Tests(t, cmd, pattern)
}

// path returns PATH with the host's bubblewrap, if any.
func (h Host) path(t *testing.T, u *User) string {
	t.Helper()
	if !h.NoBubblewrap && !h.SetUIDBubblewrap {
		return os.Getenv("PATH")
	}
	dir := u.Folder(t, "bin")
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from)
		for _, e := range entries {
			if e.Name() != "bwrap" {
				os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())) // the first of a name counts
			}
		}
	}
	if h.SetUIDBubblewrap {
		plain := testneed.Program(t, "bwrap", "bubblewrap")
		if err := os.Rename(u.Program(t, plain), filepath.Join(dir, "bwrap")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "bwrap"), 0o755|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (h Host) encode(u *User) string {
	id := fmt.Sprint(u.UID, ",", u.GID)
	if h.Root {
		id = "0,0"
	}
	return fmt.Sprint(h.NoUserNamespaces, ",", h.NoLandlock, ",", h.Docker, ",", id)
}

// Enter is for TestMain. In a process started by [Host.Command], it gives up the rights missing on
// the host, and becomes the program. Elsewhere it does nothing.
func Enter() {
	if len(os.Args) < 4 || os.Args[1] != enter {
		return
	}
	if err := become(strings.Split(os.Args[2], ","), os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "entering another host:", err)
		os.Exit(1)
	}
}

func become(what, args []string) error {
	runtime.LockOSThread() // only the thread that becomes the program is changed
	if what[0] == "true" {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return err
		}
	}
	if what[2] == "true" {
		if err := keepDockers(); err != nil {
			return err
		}
	}
	if err := filter(what[1] == "true", what[2] == "true"); err != nil {
		return err
	}
	uid, _ := strconv.Atoi(what[3])
	gid, _ := strconv.Atoi(what[4])
	if uid != 0 {
		if _, _, err := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); err != 0 {
			return err
		}
		if _, _, err := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); err != 0 {
			return err
		}
		if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); err != 0 {
			return err
		}
	}
	return unix.Exec(args[0], args, os.Environ())
}

// dockers are root's capabilities under Docker.
var dockers = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FSETID, unix.CAP_FOWNER, unix.CAP_MKNOD, unix.CAP_NET_RAW, unix.CAP_SETGID,
	unix.CAP_SETUID, unix.CAP_SETFCAP, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_KILL, unix.CAP_AUDIT_WRITE,
}

// keepDockers drops all others from the bounding set, so root's program has only these. The filter
// is set earlier, since it needs the full capabilities.
func keepDockers() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		keep := false
		for _, d := range dockers {
			keep = keep || c == d
		}
		if !keep {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL {
				return err
			}
		}
	}
	return nil
}

// filter makes system calls fail: for noLandlock, Landlock's as in an old kernel; for docker, the
// sandbox calls denied by Docker.
func filter(noLandlock, docker bool) error {
	var f []unix.SockFilter
	add := func(code uint16, k uint32, yes, no uint8) {
		f = append(f, unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no})
	}
	add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, 0) // the number of the call
	deny := func(err syscall.Errno, calls ...uint32) {
		for _, n := range calls {
			add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, n, 0, 1)
			add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(err), 0, 0)
		}
	}
	if noLandlock {
		deny(unix.ENOSYS, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF)
	}
	if docker {
		deny(unix.ENOSYS, unix.SYS_CLONE3)
		deny(unix.EPERM, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT,
			unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
			unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN)
		const namespaces = 0x7e020000 // CLONE_NEW…
		add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.SYS_CLONE, 0, 3)
		add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 16, 0, 0) // its flags
		add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, namespaces, 0, 1)
		add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM), 0, 0)
	}
	if len(f) == 1 {
		return nil
	}
	add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW, 0, 0)
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
