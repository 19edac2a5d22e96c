package confine

import (
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Protect adds mounts to an entered plan. The readOnly files and folders become read-only; the
// pinned ones can no longer be renamed or removed. Missing paths are skipped. The calling thread
// must have kept the capability for mounts.
func Protect(readOnly, pinned []string) error {
	for _, list := range []struct {
		paths []string
		ro    bool
	}{{pinned, false}, {readOnly, true}} {
		for _, path := range list.paths {
			mount := func() error { return again(path, list.ro) }
			var st unix.Stat_t
			if !list.ro && unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				mount = func() error { return againLink(path) }
			}
			if err := mount(); err != nil && !gone(err) {
				return fmt.Errorf("protecting %s: %w", path, err)
			}
		}
	}
	return nil
}

// Scope keeps this thread and its children from the abstract sockets of others, and from the memory
// of processes other than its descendants. The thread must have given up new privileges.
func Scope() error {
	fd, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{Scoped: ll.ScopeAbstractUnixSocket}, 0)
	if err != nil {
		return fmt.Errorf("making rules: %w", err)
	}
	defer unix.Close(fd) // only a handle
	return ll.LandlockRestrictSelf(fd, 0)
}
