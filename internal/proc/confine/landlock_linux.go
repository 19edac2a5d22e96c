package confine

import (
	"errors"
	"fmt"
	"os"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Rights of files and folders, in Landlock's words.
const (
	readRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	devRights  = ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	fileRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// rightsOf returns all file rights known to a version of Landlock.
func rightsOf(version int) uint64 {
	switch {
	case version >= 9:
		return 1<<17 - 1
	case version >= 5:
		return 1<<16 - 1
	case version >= 3:
		return 1<<15 - 1
	}
	return 1<<14 - 1
}

// ScopingVersion is the first version of Landlock to bound signals and abstract sockets. Before
// BoundingVersion, no file could be moved between folders, which builds need, and any file could be
// truncated.
const BoundingVersion, ScopingVersion = 3, 6

// landlock bounds this thread and its children. Not with the library's own
// rules, which stop every thread of this process to bind it, for up to some
// milliseconds: no other thread in it does anything.
func (p *Plan) landlock() error {
	version, err := ll.LandlockGetABIVersion()
	if p.Landlock && (err != nil || version < BoundingVersion) {
		return errors.New("the kernel's is missing or too old")
	}
	var attr ll.RulesetAttr
	if p.Landlock {
		attr.HandledAccessFS = rightsOf(version)
	}
	if p.Scoped && err == nil && version >= ScopingVersion {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	if attr == (ll.RulesetAttr{}) {
		return nil
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("making rules: %w", err)
	}
	defer unix.Close(fd) // only a handle
	if p.Landlock {
		if err := p.addRules(fd, attr.HandledAccessFS); err != nil {
			return err
		}
	}
	return ll.LandlockRestrictSelf(fd, 0)
}

func (p *Plan) addRules(rules int, handled uint64) error {
	for _, rule := range []struct {
		rights uint64
		paths  []string
	}{
		{ll.AccessFSReadDir, []string{"/"}}, // names alone: a folder beside a secret has to be listed
		{readRights, p.Reads},
		{devRights, devicePaths()},
		{^uint64(ll.AccessFSIoctlDev | ll.AccessFSMakeBlock | ll.AccessFSMakeChar), p.Writes},
	} {
		for _, path := range rule.paths {
			if err := addRule(rules, path, rule.rights&handled); err != nil {
				return fmt.Errorf("allowing %s: %w", path, err)
			}
		}
	}
	return nil
}

// devicePaths returns the devices for programs; see deviceNames. Of terminals, it returns only the
// command's own. A rule for /dev/pts would open all terminals of the user, with the passwords typed
// there, so no program can open further terminals.
func devicePaths() []string {
	paths := []string{"/dev/ptmx"}
	for _, name := range deviceNames() {
		paths = append(paths, "/dev/"+name)
	}
	for fd := range 3 {
		if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && strings.HasPrefix(path, "/dev/pts/") {
			paths = append(paths, path)
		}
	}
	return paths
}

func addRule(rules int, path string, rights uint64) error {
	var st unix.Stat_t
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if gone(err) || err == unix.EACCES {
		return nil // nothing to allow
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd) // only a handle
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	return ll.LandlockAddPathBeneathRule(rules, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
}
