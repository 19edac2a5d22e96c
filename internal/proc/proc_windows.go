package proc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

func hardenCommon() error { return nil }

// Process is a running child, and all its descendants.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when nothing is left; then exit and err are valid
	exit Exit
	err  error

	jobMu sync.Mutex
	job   windows.Handle // 0 once closed
}

// Start starts a child in a job object, which ends with us. It returns once the program runs. If
// the program does not start, it returns a [*StartError]. When ctx ends, the whole job is ended at
// once: Windows offers no gentler way.
func Start(ctx context.Context, c Cmd) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(c.Args) == 0 {
		return nil, &StartError{Program: `""`, Reason: "no program was named", Err: errors.New("empty command")}
	}
	if c.PTY != nil {
		return nil, &StartError{Program: c.Args[0], Reason: "there are no pseudo-terminals on Windows", Err: errors.ErrUnsupported}
	}
	path, err := lookup(c.Args[0], c.Dir, c.Env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: c.Args, Dir: c.Dir, Env: c.Env, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, WaitDelay: quiet}
	if c.Env == nil {
		cmd.Env = []string{}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CmdLine: commandLine(c.Args)}
	job, err := newJob(c.Limits)
	if err != nil {
		return nil, fmt.Errorf("making a job for %s: %w", c.Args[0], err)
	}
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job) // never used
		return nil, explain(path, c.Dir, nil, err)
	}
	p := &Process{cmd: cmd, job: job, done: make(chan struct{})}
	p.assign()
	go p.run(ctx)
	return p, nil
}

// commandLine returns the arguments of cmd.exe as they are, since cmd.exe does not follow the usual
// quoting. For other programs it returns "": the usual quoting.
func commandLine(args []string) string {
	if strings.EqualFold(strings.TrimSuffix(strings.ToLower(filepath.Base(args[0])), ".exe"), "cmd") {
		return strings.Join(args, " ")
	}
	return ""
}

func newJob(l Limits) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if l.MemoryMB > 0 {
		info.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(l.MemoryMB) << 20
	}
	if l.Processes > 0 {
		info.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		info.BasicLimitInformation.ActiveProcessLimit = uint32(l.Processes)
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job) // never used
		return 0, err
	}
	return job, nil
}

// assign puts the child into the job. Processes started before are not in it.
func (p *Process) assign() {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.cmd.Process.Pid))
	if err != nil {
		return // it has ended already
	}
	windows.AssignProcessToJobObject(p.job, h) // it may have ended already
	windows.CloseHandle(h)                     // only for the call above
}

func (p *Process) run(ctx context.Context) {
	defer close(p.done)
	var stopping sync.WaitGroup
	stopping.Add(1)
	release := context.AfterFunc(ctx, func() { defer stopping.Done(); p.Stop(0) })
	err := p.cmd.Wait()
	if !release() {
		stopping.Wait()
	}
	p.endJob()
	p.exit.Code = p.cmd.ProcessState.ExitCode()
	var exited *exec.ExitError
	switch {
	case ctx.Err() != nil:
		p.err = ctx.Err()
	case err != nil && !errors.As(err, &exited) && !errors.Is(err, exec.ErrWaitDelay):
		p.err = err
	}
}

func (p *Process) endJob() {
	p.jobMu.Lock()
	defer p.jobMu.Unlock()
	if p.job != 0 {
		windows.TerminateJobObject(p.job, 1) // it may be empty
		windows.CloseHandle(p.job)           // ends it too
		p.job = 0
	}
}

// Wait returns how the child ended, once nothing of it is left and its output was written. If ctx
// ended before, it returns ctx.Err(). Any other error is not the child's.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// Done is closed when nothing of the child is left.
func (p *Process) Done() <-chan struct{} { return p.done }

// Work returns false for ok: the work of the descendants is not known.
func (p *Process) Work() (ticks uint64, waits, ok bool) { return 0, false, false }

// Pid is the child's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stop ends the child and its descendants at once, without a grace period. It may be called again.
func (p *Process) Stop(time.Duration) {
	p.endJob()
	p.cmd.Process.Kill() // it may have ended already
}
