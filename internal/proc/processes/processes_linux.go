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

// Work returns the processor time that a process and its descendants have used, in the system's
// ticks, and whether one of them is ready to run or waits for a disk. If the process is gone, ok is
// false.
func Work(root int) (ticks uint64, waits, ok bool) {
	buf := make([]byte, 512)
	for _, p := range append(Below(root), Process{PID: root}) {
		fields := fieldsOf(p.PID, buf)
		if len(fields) < 13 {
			continue // it has just ended
		}
		ok = ok || p.PID == root
		waits = waits || fields[0][0] == 'R' || fields[0][0] == 'D'
		for _, field := range fields[11:13] { // in user mode and in the kernel
			n, _ := strconv.ParseUint(string(field), 10, 64)
			ticks += n
		}
	}
	return ticks, waits, ok
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

// stat reads a process. Zombies are left out, they only wait to be collected.
func stat(pid int, buf []byte) (Process, bool) {
	fields := fieldsOf(pid, buf)
	if len(fields) < 3 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return Process{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	group, _ := strconv.Atoi(string(fields[2]))
	return Process{PID: pid, Parent: parent, Group: group}, true
}

// fieldsOf reads /proc/PID/stat: "pid (name) state parent group …", where the name may hold
// anything. It returns the fields from the state on, which are valid until buf is used again. If
// the process is gone, it returns nil.
func fieldsOf(pid int, buf []byte) [][]byte {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	n, err := unix.Read(fd, buf)
	unix.Close(fd) // only read
	if err != nil || n <= 0 {
		return nil
	}
	return bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n])
}
