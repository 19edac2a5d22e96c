package confine

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attr sets attr to make the plan's namespaces for a new process.
func (p *Plan) Attr(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if p.Processes {
		attr.Cloneflags |= unix.CLONE_NEWPID
	}
	if p.Network {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	if os.Geteuid() != 0 { // only root's programs keep capabilities across exec
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE} // the last for layers
	}
	attr.UidMappings = mapping(os.Geteuid(), unix.CAP_SETUID)
	attr.GidMappings = mapping(os.Getegid(), unix.CAP_SETGID)
	attr.GidMappingsEnableSetgroups = mayMapAll(unix.CAP_SETGID)
}

// mapping returns all users if we may map them, otherwise ourselves alone. As root, unpacked and
// installed files can then have other owners.
func mapping(id int, needs uint) []syscall.SysProcIDMap {
	if mayMapAll(needs) {
		return []syscall.SysProcIDMap{{Size: 1<<32 - 1}}
	}
	return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
}

func mayMapAll(needs uint) bool {
	return os.Geteuid() == 0 && has(needs) && wholeMap()
}

// wholeMap reports whether every number exists: in a container with its own user namespace, some do
// not.
func wholeMap() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	var inside, outside, size uint64
	n, _ := fmt.Sscan(string(text), &inside, &outside, &size)
	return err == nil && n == 3 && inside == 0 && size == 1<<32-1
}

func has(c uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[c/32].Effective&(1<<(c%32)) != 0
}

// Enter bounds this process by the plan, for good. The thread must be locked: its later children
// are bound. If Enter returns an error, the program must not be started.
func (p *Plan) Enter() error {
	if p.Apart() {
		// A child in control of us could undo its bounds through us.
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return fmt.Errorf("making the supervisor unreadable: %w", err)
		}
	}
	if p.Namespaces {
		if err := p.mount(); err != nil {
			return err
		}
		if p.Network {
			if err := loopback(); err != nil {
				return fmt.Errorf("setting the loopback up: %w", err)
			}
		}
	}
	// The session keyring of our parent holds the keys of its programs. Not every kernel supports
	// keyrings.
	unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) // see above
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := p.landlock(); err != nil {
		return fmt.Errorf("binding ourselves by Landlock: %w", err)
	}
	if p.Apart() || p.Landlock {
		if err := dropCapabilities(p.kept()); err != nil {
			return fmt.Errorf("giving up capabilities: %w", err)
		}
	}
	if err := p.filterCalls(); err != nil {
		return fmt.Errorf("filtering system calls: %w", err)
	}
	return nil
}

// kept returns the capabilities of root's programs. It leaves out capabilities to change mounts,
// networks, devices, the clock, the kernel or other processes.
func (p *Plan) kept() []uint {
	kept := []uint{
		unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, // root works in folders of other users
		unix.CAP_CHOWN, unix.CAP_FSETID, // tar, install and package managers give files to others
		unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_AUDIT_WRITE, // su, and tests as another user
		unix.CAP_KILL,             // and end the user's processes
		unix.CAP_SETPCAP,          // programs giving up the rest
		unix.CAP_NET_BIND_SERVICE, // a server on port 80
		unix.CAP_SYS_CHROOT,       // debootstrap and the like
	}
	if p.Apart() { // with Landlock alone, also of files run by others: Landlock does not know capabilities
		kept = append(kept, unix.CAP_SETFCAP)
	}
	return kept
}

// dropCapabilities is for this thread and its children. The other threads keep
// theirs, which no process inside can reach: see Enter.
func dropCapabilities(kept []uint) error {
	var keep [2]uint32
	for _, c := range kept {
		keep[c/32] |= 1 << (c % 32)
	}
	for c := range uint(64) {
		if keep[c/32]&(1<<(c%32)) == 0 {
			unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0) // not known to the kernel
		}
	}
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // since Linux 4.3
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	for i := range data {
		data[i].Effective &= keep[i]
		data[i].Permitted &= keep[i]
		data[i].Inheritable = 0
	}
	return unix.Capset(&header, &data[0])
}

func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) // only a handle
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
