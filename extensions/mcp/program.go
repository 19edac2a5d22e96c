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

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/wire"
	"github.com/hermes-ls/hermes-ls/internal/peer"
	"github.com/hermes-ls/hermes-ls/tools"
)

// gentle is the grace period of a server. It applies between closing its input and
// SIGTERM, and between SIGTERM and SIGKILL.
const gentle = 80 * time.Millisecond

// mostWaiting limits the bytes that wait for a program to read.
const mostWaiting = 2 * wire.LongestMessage

// program is a server that runs as a child process and uses its pipes.
type program struct {
	*peer.Peer
	output  *outputLog        // its other output
	watched extension.Watched // of a program with write access to the workspace
	wire.Dropped
}

// launch starts a server's program. The program ends only by close, not with ctx.
func (a attempt) launch(ctx context.Context) (*program, error) {
	plan, err := a.plan(ctx)
	if err != nil {
		return nil, err
	}
	if !a.approved(plan.ask) {
		return nil, errPermission
	}
	p := &program{output: &outputLog{server: a.server}, Dropped: wire.Dropped{Forms: &a.forms}}
	c := plan.cmd
	c.Stderr = p.output
	o := peer.Options{Grace: gentle, Most: mostWaiting, Unread: limitOf(a.server) + time.Second, Output: func(to *io.PipeWriter) io.Writer {
		return &wire.Messages{To: to, Other: p.output, Dropped: &p.Dropped, TooLong: func(err error) { to.CloseWithError(err) }}
	}}
	if plan.confine || a.Bound != nil && a.Bound.Writes() {
		if p.watched, err = a.watch(ctx); err != nil {
			return nil, err
		}
	}
	switch {
	case a.Bound != nil:
		if o.Ended, err = a.Bound.Confine(ctx, &c); err != nil {
			return nil, err
		}
	case plan.confine:
		if a.owner.cfg.Confine == nil {
			return nil, fmt.Errorf("it asks for the sandbox, and there is none here")
		}
		if err := a.owner.cfg.Confine(ctx, &c, plan.files); err != nil {
			return nil, fmt.Errorf("it cannot be bound by the sandbox: %w", err)
		}
	}
	if p.Peer, err = peer.Start(ctx, c, o); err != nil {
		return nil, err
	}
	return p, nil
}

// watch starts the review of changes by a program with write access to the workspace.
func (s *server) watch(ctx context.Context) (w extension.Watched, err error) {
	if s.owner.cfg.Watch == nil {
		return w, nil
	}
	return s.owner.cfg.Watch(ctx, "the MCP server "+s.Name)
}

func (p *program) review(ctx context.Context, c tools.Call) (note string) {
	if p.watched.Review == nil {
		return ""
	}
	return p.watched.Review(ctx, c)
}

func (p *program) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: p.Out, Writer: wire.Sender{WriteCloser: p.In, Dropped: &p.Dropped}}
}

// close ends the program: it closes the input, then sends SIGTERM, then SIGKILL.
func (p *program) close() {
	p.Out.Close()
	p.Close()
}

// exitReason describes how the program ended, and its last output. If the program has not ended and
// was not stopped, it returns only the output.
func (p *program) exitReason() string {
	if p.Fault() == nil {
		select {
		case <-p.Done():
		case <-time.After(gentle): // it may end soon
			return p.output.lastLine()
		}
	}
	text := "it " + p.Exit()
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
