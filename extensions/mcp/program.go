package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/wire"
	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// gentle is the grace period of a server. It applies between closing its input and
// SIGTERM, and between SIGTERM and SIGKILL.
const gentle = 80 * time.Millisecond

// program is a server that runs as a child process and uses its pipes.
type program struct {
	process *proc.Process
	in      *io.PipeWriter // to it
	out     *io.PipeReader // from it
	output  *outputLog     // its other output
	release func()         // see [Bound]
	wire.Dropped
}

// launch starts a server's program. The program ends only by close, not with ctx.
func (s *server) launch(ctx context.Context) (*program, error) {
	plan, err := s.plan(ctx)
	if err != nil {
		return nil, err
	}
	if !s.approved(plan.ask) {
		return nil, errPermission
	}
	toChild, in := io.Pipe()
	out, fromChild := io.Pipe()
	p := &program{in: in, out: out, output: &outputLog{server: s}, release: func() {}, Dropped: wire.Dropped{Forms: &s.forms}}
	c := plan.cmd
	c.Stdin, c.Stdout, c.Stderr = toChild, &wire.Messages{To: fromChild, Other: p.output, Dropped: &p.Dropped, TooLong: func(err error) { fromChild.CloseWithError(err) }}, p.output
	switch {
	case s.Bound != nil:
		if p.release, err = s.Bound.Confine(ctx, &c); err != nil {
			return nil, err
		}
	case plan.confine:
		if s.owner.cfg.Confine == nil {
			return nil, fmt.Errorf("it asks for the sandbox, and there is none here")
		}
		if err := s.owner.cfg.Confine(ctx, &c, plan.files); err != nil {
			return nil, fmt.Errorf("it cannot be bound by the sandbox: %w", err)
		}
	}
	if p.process, err = proc.Start(context.WithoutCancel(ctx), c); err != nil {
		p.release()
		return nil, err
	}
	go func() { // ends with the process; close waits for the process
		<-p.process.Done()
		fromChild.Close()
	}()
	return p, nil
}

func (p *program) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: p.out, Writer: wire.Sender{WriteCloser: p.in, Dropped: &p.Dropped}}
}

// close ends the program: it closes the input, then sends SIGTERM, then SIGKILL.
func (p *program) close() {
	p.in.Close()
	p.out.Close()
	timer := time.NewTimer(gentle)
	defer timer.Stop()
	select {
	case <-p.process.Done():
	case <-timer.C:
		p.process.Stop(gentle)
	}
	<-p.process.Done()
	p.release()
}

// why describes how the program ended and its last output. If the program has not ended,
// it returns only the output.
func (p *program) why() string {
	select {
	case <-p.process.Done():
	case <-time.After(gentle): // it may end soon
		return p.output.lastLine()
	}
	exit, _ := p.process.Wait() // exit describes the end in any case
	text := fmt.Sprintf("it ended with exit code %d", exit.Code)
	if exit.Signal != "" {
		text = "it was ended by " + exit.Signal
	}
	if last := p.output.lastLine(); last != "" {
		text += ": " + last
	}
	return text
}

// outputLog writes a program's other output to the log of the server, line by line.
type outputLog struct {
	server *server

	mu   sync.Mutex // two pipes write here
	line []byte
	last string
}

const longestLine = 2000 // bytes of a line in the log

func (s *outputLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		piece, rest, whole := bytes.Cut(p, []byte{'\n'})
		if room := longestLine - len(s.line); room > 0 {
			s.line = append(s.line, piece[:min(len(piece), room)]...)
		}
		if whole {
			s.logLine()
		}
		p = rest
	}
	return n, nil
}

func (s *outputLog) logLine() {
	text := plain(string(s.line), longestLine)
	s.line = s.line[:0]
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	text = s.server.owner.cfg.Hide(text)
	s.server.log.Write(text)
	s.last = text
}

func (s *outputLog) lastLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return plain(s.last, 300)
}
