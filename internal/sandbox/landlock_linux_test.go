package sandbox

import ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

// resolvesUnix reports whether this kernel's Landlock knows sockets with a path.
func resolvesUnix() bool {
	version, err := ll.LandlockGetABIVersion()
	return err == nil && version >= 9
}
