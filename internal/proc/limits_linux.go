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

// Less would be too little for ourselves, who get the limits too. What all hold
// together is kept by watch whatever the number.
const (
	leastMemoryMB  = 256
	leastOpenFiles = 16
)

// lower sets the limits that a child inherits, on ourselves: later would be too
// late, since the child runs by then. apart: in a user namespace of our own, where
// the kernel counts nobody else's processes; it counts our threads too, so that
// limit is taken from us again by what lower returns, and made final for the child.
//
// Data and not address space: what a program only reserves costs nothing.
func (l Limits) lower(apart bool) (raise func(pid *int)) {
	if l.MemoryMB > 0 {
		final(unix.RLIMIT_DATA, uint64(max(l.MemoryMB, leastMemoryMB))<<20)
	}
	if l.OpenFiles > 0 {
		final(unix.RLIMIT_NOFILE, uint64(max(l.OpenFiles, leastOpenFiles)))
	}
	var was unix.Rlimit
	if l.Processes <= 0 || !apart || unix.Getrlimit(unix.RLIMIT_NPROC, &was) != nil {
		return func(*int) {}
	}
	// Threads count as processes do. The exact count is kept by watch; this is for the
	// time between two looks.
	limit := min(was.Max, uint64(8*l.Processes))
	unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: was.Max}) //nolint:errcheck // lowering is always allowed
	return func(pid *int) {
		unix.Setrlimit(unix.RLIMIT_NPROC, &was) //nolint:errcheck // as it was
		if *pid > 0 {
			unix.Prlimit(*pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}, nil) //nolint:errcheck // it may have ended
		}
	}
}

// final lowers a limit of ours for good.
func final(resource int, limit uint64) {
	var was unix.Rlimit
	if unix.Getrlimit(resource, &was) == nil {
		limit = min(was.Max, limit)
		unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}) //nolint:errcheck // lowering is always allowed
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
