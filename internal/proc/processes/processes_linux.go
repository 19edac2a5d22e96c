package processes

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Process is a process of this system.
type Process struct{ PID, Parent, Group int }

// Below lists all descendants of a process. If the system does not list them, it returns nil.
func Below(root int) []Process {
	children := map[int][]Process{}
	for _, p := range All() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].PID]...)
	}
	return found
}

// All lists the processes of the system, or of our process namespace.
func All() (all []Process) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() // only read
	names, _ := dir.Readdirnames(-1)
	buf := make([]byte, 512)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := stat(pid, buf); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// stat reads /proc/PID/stat: "pid (name) state parent group …", where the name
// may hold anything. Zombies are left out, they only wait to be collected.
func stat(pid int, buf []byte) (Process, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Process{}, false
	}
	n, err := unix.Read(fd, buf)
	unix.Close(fd) // only read
	if err != nil || n <= 0 {
		return Process{}, false
	}
	fields := bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n])
	if len(fields) < 3 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return Process{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	group, _ := strconv.Atoi(string(fields[2]))
	return Process{PID: pid, Parent: parent, Group: group}, true
}
