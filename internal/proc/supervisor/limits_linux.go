package supervisor

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/processes"
	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"
)

// watchEvery is how often descendants with limits are counted, and watchForks how often while they
// fork. Counting takes at most 1/watchShare of the time.
const (
	watchEvery = 50 * time.Millisecond
	watchForks = 2 * time.Millisecond
	watchShare = 20
)

// The least limits: they apply to the supervisor, too, which needs as much. watchLimits enforces
// the configured limit on the sum in any case.
const (
	leastMemoryMB  = 256
	leastOpenFiles = 16
)

// lower sets a child's limits on ourselves, for the child to inherit: after the start would be too
// late. where is whose processes the kernel counts in our user namespace. It counts our threads
// too, so raise removes the limit of processes from us again, and makes it final for the child. The
// kernel does not enforce this limit on root, whatever its capabilities.
//
// It limits data and not address space: reserved memory costs nothing.
func lower(l spec.Limits, where neighbors) (raise func(pid *int)) {
	if l.MemoryMB > 0 {
		final(unix.RLIMIT_DATA, uint64(max(l.MemoryMB, leastMemoryMB))<<20)
	}
	if l.OpenFiles > 0 {
		final(unix.RLIMIT_NOFILE, uint64(max(l.OpenFiles, leastOpenFiles)))
	}
	var was unix.Rlimit
	if l.Processes <= 0 || where == hosts || unix.Getrlimit(unix.RLIMIT_NPROC, &was) != nil {
		return func(*int) {}
	}
	// The exact count is kept by watchLimits; this is for the time between two looks.
	limit := uint64(l.Processes + spec.Threads() + ownThreads() + spareThreads)
	if where == commands {
		limit += besideProcesses
	}
	limit = min(was.Max, limit)
	unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: was.Max}) // lowering is always allowed
	return func(pid *int) {
		unix.Setrlimit(unix.RLIMIT_NPROC, &was) // as it was
		if *pid > 0 {
			unix.Prlimit(*pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}, nil) // it may have ended
		}
	}
}

// ownThreads returns the number of our threads: each is a folder in /proc/self/task.
func ownThreads() int {
	var st unix.Stat_t
	if unix.Stat("/proc/self/task", &st) != nil {
		return 0
	}
	return int(st.Nlink) - 2
}

// besideProcesses are left to other commands in the same namespace.
const besideProcesses = 4096

// spareThreads are threads that our runtime may still start.
const spareThreads = 8

// final lowers our limit for good.
func final(resource int, limit uint64) {
	var was unix.Rlimit
	if unix.Getrlimit(resource, &was) == nil {
		limit = min(was.Max, limit)
		unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}) // lowering is always allowed
	}
}

// watchLimits sends the first limit exceeded by all descendants together. Without limits it sends
// nothing.
func watchLimits(l spec.Limits, t *tree) <-chan int {
	over := make(chan int, 1)
	if l.MemoryMB <= 0 && l.Processes <= 0 {
		return over
	}
	go func() {
		var forks forkCounter
		pause := watchForks
		for counted, cost := time.Now(), time.Duration(0); ; {
			select {
			case <-t.gone:
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, watchEvery)
			if forks.added() { // as long as it takes a few processors to make the rest
				pause = min(max(time.Duration(l.Processes-forks.most)*40*time.Microsecond, watchForks), watchEvery)
			}
			began := time.Now()
			due := max(watchEvery, watchShare*cost)
			if l.Processes > 0 && forks.most > l.Processes {
				due = min(watchEvery, watchShare*cost)
			}
			if began.Sub(counted) < due {
				continue
			}
			all := below(t.child)
			if limit := exceeded(l, all); limit != 0 {
				over <- limit
				return
			}
			counted, cost, forks.most = time.Now(), time.Since(began), len(all)
		}
	}()
	return over
}

// forkCounter bounds how many processes there can be, without a look at each.
type forkCounter struct {
	most int // upper bound: the counted processes, and all made since
	last int // the number of the newest process or thread
}

// added counts the processes and threads since the last call, and reports whether there are any.
// The kernel reports the newest number in our namespace.
func (f *forkCounter) added() bool {
	text, err := os.ReadFile("/proc/loadavg")
	fields := bytes.Fields(text)
	if err != nil || len(fields) == 0 {
		return false
	}
	now, _ := strconv.Atoi(string(fields[len(fields)-1]))
	before := f.last
	f.last = now
	switch {
	case before == 0 || now == before:
		return false
	case now < before: // the numbers have begun again
		f.most = math.MaxInt
	default:
		f.most += now - before
	}
	return true
}

func exceeded(l spec.Limits, all []processes.Process) int {
	if l.Processes > 0 && len(all) > l.Processes {
		return spec.OverProcesses
	}
	if l.MemoryMB <= 0 {
		return 0
	}
	pages := 0
	for _, p := range all {
		pages += private(p.PID)
	}
	if pages > l.MemoryMB<<20/os.Getpagesize() {
		return spec.OverMemory
	}
	return 0
}

// private returns the resident pages of a process not shared with files. Pages shared by forks
// count for each of them, which errs on the safe side.
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
