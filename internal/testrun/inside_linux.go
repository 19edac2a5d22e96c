package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/processes"
)

// insideMode is the first argument of a process that runs a command and lists its leftovers.
const insideMode = "inside-stage"

// settle is how long a command's processes may take to end after it.
const settle = 10 * time.Second

// inside runs a command, args[1:], and writes the surviving processes to the file args[0], and the
// processor time of all its processes to the file args[0].cpu. It returns the exit status.
func inside(args []string) int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return 1
	}
	signal.Ignore(syscall.SIGTERM) // the command gets it, too
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	left := leftovers()
	if len(left) > 0 {
		if err := os.WriteFile(args[0], []byte(strings.Join(left, "\n")+"\n"), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "testrun:", err)
		}
	}
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &used) == nil {
		took := time.Duration(used.Utime.Nano() + used.Stime.Nano())
		os.WriteFile(args[0]+".cpu", []byte(took.String()), 0o644) // the table shows none
	}
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return 1
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 1
}

// leftovers waits until no descendants are left, and returns the processes that do not end.
func leftovers() []string {
	for end := time.Now().Add(settle); ; time.Sleep(20 * time.Millisecond) {
		for pid := 1; pid > 0; { // collect ended processes
			pid, _ = unix.Wait4(-1, nil, unix.WNOHANG, nil)
		}
		left := processes.Below(os.Getpid())
		if len(left) == 0 {
			return nil
		}
		if time.Now().Before(end) {
			continue
		}
		var all []string
		for _, p := range left {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
			cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID))
			all = append(all, fmt.Sprintf("process %d in %s: %s", p.PID, cwd, bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '})))
		}
		return all
	}
}

// endWithParent has this process end if make is killed.
func endWithParent() {
	unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0) // the terminal ends it, too
}
