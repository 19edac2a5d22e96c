package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"
)

// group is a control group of the kernel (version 2), which enforces the limits exactly. Making one
// requires write access to our group or a group above it with delegated controllers, as systemd
// arranges for a user's services. Otherwise group is nil, and all its methods do nothing.
type group struct {
	dir string
	fd  int
}

// supervisorThreads is the part of a group's limit that our supervisors use.
const supervisorThreads = 24

const groupPrefix = "hermes-ls-"

// newGroup makes a group with limits, or none.
func newGroup(l Limits) *group {
	if l.MemoryMB <= 0 && l.Processes <= 0 {
		return nil
	}
	own, err := ownGroup()
	if err != nil {
		return nil
	}
	for dir := own; len(dir) > len(cgroupRoot); dir = filepath.Dir(dir) {
		if g := groupIn(dir, l); g != nil {
			return g
		}
	}
	return nil
}

const cgroupRoot = "/sys/fs/cgroup"

// ownGroup returns the folder of our group. If the hierarchies of version 1 are mounted, version 2
// lacks the needed controllers.
func ownGroup() (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &fs); err != nil {
		return "", err
	}
	if fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return "", unix.ENOTSUP
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && !strings.Contains(path, "..") {
			return filepath.Join(cgroupRoot, path), nil
		}
	}
	return "", unix.ENOENT
}

// groupIn makes a group within dir, if dir hands both controllers on.
func groupIn(dir string, l Limits) *group {
	handed, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return nil
	}
	names := strings.Fields(string(handed))
	if !slices.Contains(names, "memory") || !slices.Contains(names, "pids") {
		return nil
	}
	sweepGroups(dir)
	path, err := os.MkdirTemp(dir, groupPrefix)
	if err != nil {
		return nil
	}
	g := &group{dir: path, fd: -1}
	for name, value := range groupFiles(l) {
		if err := os.WriteFile(filepath.Join(path, name), []byte(value), 0o644); err != nil && name != "memory.swap.max" {
			g.remove()
			return nil
		}
	}
	if g.fd, err = unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		g.remove()
		return nil
	}
	return g
}

// groupFiles are the limits as a group's files take them.
func groupFiles(l Limits) map[string]string {
	files := map[string]string{}
	if l.MemoryMB > 0 {
		files["memory.max"] = strconv.Itoa(l.MemoryMB << 20)
		files["memory.swap.max"] = "0" // not there without swap
	}
	if l.Processes > 0 {
		files["pids.max"] = strconv.Itoa(l.Processes + spec.Threads() + supervisorThreads) // it counts threads: see lower
	}
	return files
}

// sweepGroups removes the groups of killed servers: all empty groups except new ones.
func sweepGroups(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, groupPrefix+"*"))
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > time.Minute {
			os.Remove(path) // fails if it is in use
		}
	}
}

// use starts a process in the group.
func (g *group) use(attr *syscall.SysProcAttr) {
	if g != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, g.fd
	}
}

// exceeded returns the limit enforced by the kernel.
func (g *group) exceeded() string {
	if g == nil {
		return ""
	}
	events, err := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(events) {
		if fields := bytes.Fields(line); len(fields) == 2 && string(fields[0]) == "oom_kill" && string(fields[1]) != "0" {
			return LimitMemory
		}
	}
	return ""
}

// remove ends the processes in the group and removes it. Processes are left in it only if a
// supervisor was killed.
func (g *group) remove() {
	if g == nil {
		return
	}
	if g.fd >= 0 {
		unix.Close(g.fd) // only a handle
	}
	for range 20 {
		if err := os.Remove(g.dir); err == nil || os.IsNotExist(err) {
			return
		}
		os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0o644) // since Linux 5.14
		time.Sleep(5 * time.Millisecond)
	}
}
