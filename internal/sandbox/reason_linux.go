package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// host holds the properties of a host on which mechanisms depend.
type host struct {
	settings    map[string]string // existing kernel settings, by name
	filtered    bool              // a seccomp filter bounds us, as in a container
	root        bool
	landlock    int   // version
	landlockErr error // why it cannot be asked for
	bubblewrap  bool  // is installed
}

// Kernel settings against user namespaces, with the forbidding value.
var forbidding = []struct{ name, value, allows string }{
	{"user.max_user_namespaces", "0", "10000"},
	{"kernel.unprivileged_userns_clone", "0", "1"},
	{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
}

func thisHost() host {
	h := host{settings: map[string]string{}, root: os.Geteuid() == 0}
	for _, s := range forbidding {
		if text, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(s.name, ".", "/")); err == nil {
			h.settings[s.name] = strings.TrimSpace(string(text))
		}
	}
	status, _ := os.ReadFile("/proc/self/status")
	h.filtered = strings.Contains(string(status), "\nSeccomp:\t2")
	h.landlock, h.landlockErr = ll.LandlockGetABIVersion()
	_, err := findBubblewrap()
	h.bubblewrap = err == nil
	return h
}

// why explains why no mechanism works, and how the user can fix it. errs are the errors of each.
func why(errs map[Kind]error) string { return thisHost().why(errs) }

func (h host) why(errs map[Kind]error) string {
	setting, allows := h.forbids()
	h.filtered = h.filtered && last(errs[Namespaces]) == unix.EPERM.Error()
	text := h.namespaces(setting, errs[Namespaces]) + " and " + h.noLandlock(errs[Landlock]) + ". "
	if h.bubblewrap {
		text += fmt.Sprintf("Bubblewrap is installed, but does not work either (%s). ", last(errs[Bubblewrap]))
	}
	switch {
	case h.filtered && setting == "":
		return text + "If this is a container, let it make user namespaces (Docker: --security-opt seccomp=FILE)"
	case setting == "" && !h.bubblewrap:
		return text + "Install bubblewrap"
	case setting == "":
		return text + "Use a kernel with Landlock (Linux 6.2 or later)"
	case h.bubblewrap:
		return text + fmt.Sprintf("Set %s=%s with sysctl", setting, allows)
	}
	return text + fmt.Sprintf("Install bubblewrap, or set %s=%s with sysctl", setting, allows)
}

// forbids returns the kernel setting against user namespaces, and a value to allow them. If there
// is none, both are empty.
func (h host) forbids() (name, allows string) {
	for i, s := range forbidding {
		if h.settings[s.name] == s.value && (i == 0 || !h.root) { // the others are not for root
			return s.name, s.allows
		}
	}
	return "", ""
}

func (h host) namespaces(setting string, err error) string {
	switch {
	case setting != "":
		return fmt.Sprintf("User namespaces are off (%s=%s)", setting, h.settings[setting])
	case h.filtered:
		return "User namespaces are blocked by a seccomp filter, as in a container,"
	}
	return fmt.Sprintf("User namespaces do not work (%s)", last(err))
}

func (h host) noLandlock(err error) string {
	switch {
	case errors.Is(h.landlockErr, unix.EOPNOTSUPP):
		return "Landlock is switched off (lsm= of the kernel's command line)"
	case errors.Is(h.landlockErr, unix.EPERM):
		return "Landlock is blocked by a seccomp filter"
	case h.landlockErr != nil:
		return "Landlock is missing"
	case h.landlock < confine.BoundingVersion:
		return fmt.Sprintf("Landlock is too old (version %d; %d is needed, which Linux 6.2 has)", h.landlock, confine.BoundingVersion)
	}
	return fmt.Sprintf("Landlock does not work (%s)", last(err))
}

// last is the end of an error, which is the system's.
func last(err error) string {
	if err == nil {
		return "unknown"
	}
	parts := strings.Split(err.Error(), ": ")
	return parts[len(parts)-1]
}
