package proc

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// watchEvery is how often what runs is counted, where it has limits; but never
// more than one part in watchShare of the time.
const (
	watchEvery = 50 * time.Millisecond
	watchShare = 20
)

// lower sets the limits that a process hands on, on ourselves and for the fork
// alone; what it returns puts ours back and makes the child's final. apart: in a
// user namespace of our own, where the kernel counts nobody else's processes. It
// counts ours, but no limit of the child's is one of ours.
//
// Data and not address space: what a program only reserves costs nothing.
func (l Limits) lower(apart bool) (raise func(pid *int)) {
	limits := map[int]int{unix.RLIMIT_DATA: l.MemoryMB << 20, unix.RLIMIT_NOFILE: l.OpenFiles}
	if apart {
		// Threads count as processes do. The exact count is kept by watch; this is for
		// the time between two looks.
		limits[unix.RLIMIT_NPROC] = 8 * l.Processes
	}
	before := map[int]unix.Rlimit{}
	for resource, limit := range limits {
		var was unix.Rlimit
		if limit <= 0 || unix.Getrlimit(resource, &was) != nil {
			continue
		}
		before[resource] = was
		now := was
		now.Cur = min(was.Max, uint64(limit))
		unix.Setrlimit(resource, &now) //nolint:errcheck // lowering is always allowed
	}
	return func(pid *int) {
		for resource, was := range before {
			unix.Setrlimit(resource, &was) //nolint:errcheck // raising up to our own maximum is allowed
			if *pid > 0 {
				final := min(was.Max, uint64(limits[resource]))
				unix.Prlimit(*pid, resource, &unix.Rlimit{Cur: final, Max: final}, nil) //nolint:errcheck // it may have ended
			}
		}
	}
}

// watch tells once which limit everything together has gone over. Nothing comes
// without limits.
func (l Limits) watch(t *tree) <-chan int {
	over := make(chan int, 1)
	if l.MemoryMB <= 0 && l.Processes <= 0 {
		return over
	}
	go func() {
		pause := watchEvery
		for {
			select {
			case <-t.gone:
				return
			case <-time.After(pause):
			}
			began := time.Now()
			if limit := l.exceeded(below(t.child)); limit != 0 {
				over <- limit
				return
			}
			pause = max(watchEvery, watchShare*time.Since(began))
		}
	}()
	return over
}

func (l Limits) exceeded(all []process) int {
	if l.Processes > 0 && len(all) > l.Processes {
		return overProcesses
	}
	if l.MemoryMB <= 0 {
		return 0
	}
	pages := 0
	for _, p := range all {
		pages += private(p.pid)
	}
	if pages > l.MemoryMB<<20/os.Getpagesize() {
		return overMemory
	}
	return 0
}

// private are the pages in memory that a process shares with no file: what forks
// of each other share counts for each, which errs on the safe side.
func private(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text) // size resident shared …
	if len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.Atoi(string(fields[1]))
	shared, _ := strconv.Atoi(string(fields[2]))
	return max(resident-shared, 0)
}
