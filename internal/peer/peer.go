// Package peer runs programs that communicate with hermes-ls over their pipes: MCP servers,
// language servers and plugins. If a program does not read, or does not end, no caller waits for
// it: messages to it wait in a bounded queue, and Close ends it within its grace periods.
package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// Options are the limits of a peer.
type Options struct {
	// Grace is the time between the end of its input and SIGTERM, and between SIGTERM and SIGKILL.
	Grace time.Duration
	// Most is the maximum number of bytes waiting for the peer. Beyond it, the peer is ended. A
	// single message is always accepted.
	Most int
	// Unread is how long the peer may leave its input unread while something waits. Then it is ended. 0: no limit.
	Unread time.Duration
	// Output gets the output, and passes on the part for Out. Nil: all of it.
	Output func(to *io.PipeWriter) io.Writer
	// Ended is called when the peer has ended; may be nil.
	Ended func()
}

// Peer is a running program. In takes its input, Out returns its output.
type Peer struct {
	*proc.Process
	In  *Input
	Out *io.PipeReader

	options Options
	started chan struct{}

	mu    sync.Mutex
	fault error
}

// Start starts a program. Its input and output belong to the peer. It ends by Close, not with ctx.
func Start(ctx context.Context, c proc.Cmd, o Options) (*Peer, error) {
	p := &Peer{options: o, started: make(chan struct{})}
	var fromChild *io.PipeWriter
	p.Out, fromChild = io.Pipe()
	p.In = newInput(o.Most, o.Unread, p.Fail)
	c.Stdin, c.Stdout, c.Grace = p.In, fromChild, o.Grace
	if o.Output != nil {
		c.Stdout = o.Output(fromChild)
	}
	process, err := proc.Start(context.WithoutCancel(ctx), c)
	if err != nil {
		if o.Ended != nil {
			o.Ended()
		}
		return nil, err
	}
	p.Process = process
	close(p.started)
	go func() { // ends with the process; Close waits for the process
		<-process.Done()
		fromChild.Close() // never fails
	}()
	return p, nil
}

// Fail ends a peer because of a fault, which [Peer.Exit] names.
func (p *Peer) Fail(why error) {
	p.mu.Lock()
	if p.fault == nil {
		p.fault = why
	}
	p.mu.Unlock()
	go func() { // ends when the process has started
		<-p.started
		p.Out.Close() // as in Close
		p.Stop(p.options.Grace)
	}()
}

// Fault returns why the peer was ended; nil: it was not.
func (p *Peer) Fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// Ended reports whether the process has ended.
func (p *Peer) Ended() bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// Exit describes the end of the process, such as "ended with exit code 3". If the peer was stopped
// because of a fault, it returns the fault at once. If not, it waits for the end of the process.
func (p *Peer) Exit() string {
	if fault := p.Fault(); fault != nil {
		return fmt.Sprintf("was stopped: %v", fault)
	}
	exit, _ := p.Wait() // exit describes the end in any case
	if fault := p.Fault(); fault != nil {
		return fmt.Sprintf("was stopped: %v", fault)
	}
	if exit.Signal != "" {
		return "was ended by " + exit.Signal
	}
	return fmt.Sprintf("ended with exit code %d", exit.Code)
}

// errUnread reports a peer that does not read.
var errUnread = errors.New("it does not read its input")

// slow is how long a working peer may leave its input unread.
const slow = 500 * time.Millisecond

// Waits adds to the error of a call without an answer if the peer does not read its input.
func (p *Peer) Waits(err error) error {
	if err == nil || p.In.Unread() < slow {
		return err
	}
	return fmt.Errorf("%w; %w", err, errUnread)
}

// Close ends the program: it closes the input, then sends SIGTERM, then SIGKILL. When it returns, nothing of the program
// is left.
func (p *Peer) Close() {
	p.In.Close() // never fails
	timer := time.NewTimer(p.options.Grace)
	defer timer.Stop()
	select {
	case <-p.Done():
	case <-timer.C:
		p.Out.Close() // never fails; output without a reader would delay the end
		p.Stop(p.options.Grace)
	}
	<-p.Done()
	p.mu.Lock()
	ended := p.options.Ended
	p.options.Ended = nil
	p.mu.Unlock()
	if ended != nil {
		ended()
	}
}
