package spec

import (
	"runtime"
	"strconv"
)

// Limits bound a child and all its descendants. Zero is no limit.
type Limits struct {
	// MemoryMB bounds the memory of each process, and of all of them together. If a process
	// asks for more, its allocation fails. If they hold more together, all are ended, and
	// Exit.Limit of package proc is LimitMemory.
	MemoryMB int
	// Processes is the number of processes at once. If there are more, all are ended.
	Processes int
	// OpenFiles of each process.
	OpenFiles int
}

// Names of the limits for which all processes are ended.
const (
	LimitMemory    = "memory"
	LimitProcesses = "processes"
)

// LimitNames by the number in a supervisor's message.
var LimitNames = []string{"", LimitMemory, LimitProcesses}

const (
	OverMemory    = 1
	OverProcesses = 2
)

const limitFields = 3

func (l Limits) fields() []string {
	return []string{strconv.Itoa(l.MemoryMB), strconv.Itoa(l.Processes), strconv.Itoa(l.OpenFiles)}
}

func limitsFrom(fields []string) (l Limits) {
	for i, to := range []*int{&l.MemoryMB, &l.Processes, &l.OpenFiles} {
		*to, _ = strconv.Atoi(fields[i])
	}
	return l
}

// Threads is the number of threads allowed in addition to a limit of processes, if the kernel
// counts both: programs start a thread for each processor.
func Threads() int { return 8 * runtime.NumCPU() }
