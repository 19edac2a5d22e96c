package sandbox

import (
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// candidates in the order in which they are tried. Ours come before bubblewrap,
// which is not stronger and slower to start: it helps where it may make namespaces
// and we may not, by a system's rule for it (AppArmor) or its set-uid bit.
func candidates() (all []Mechanism) {
	version, err := ll.LandlockGetABIVersion()
	scoped := err == nil && version >= confine.ScopingVersion
	all = append(all,
		Mechanism{Kind: Namespaces, Processes: true, NoNetwork: true, Scoped: scoped},
	)
	if program, err := findBubblewrap(); err == nil {
		all = append(all, Mechanism{Kind: Bubblewrap, Processes: true, NoNetwork: true, Scoped: scoped, Program: program})
	}
	return append(all,
		Mechanism{Kind: Namespaces, NoNetwork: true, Scoped: scoped},
		Mechanism{Kind: Landlock, NoNetwork: confine.CanFilterSockets(), Scoped: scoped},
	)
}
