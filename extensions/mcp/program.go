package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// gentle is how long a server that was asked to end has until it is told to, and
// from there until it is killed.
const gentle = 80 * time.Millisecond

// program is a server that runs as our child and speaks over its pipes.
type program struct {
	process *proc.Process
	in      *io.PipeWriter // to it
	out     *io.PipeReader // from it
	said    *said          // on stderr
	tasks
}

// launch starts a server's program. It ends by cut alone, not with ctx.
func (s *server) launch(ctx context.Context) (*program, error) {
	plan, err := s.plan()
	if err != nil {
		return nil, err
	}
	if !s.approved(plan.ask) {
		return nil, errPermission
	}
	toChild, in := io.Pipe()
	out, fromChild := io.Pipe()
	p := &program{in: in, out: out, said: &said{server: s}}
	c := plan.cmd
	c.Stdin, c.Stdout, c.Stderr = toChild, &messages{to: fromChild, other: p.said, tasks: &p.tasks}, p.said
	if plan.confine {
		if s.owner.cfg.Confine == nil {
			return nil, fmt.Errorf("it asks for the sandbox, and there is none here")
		}
		if err := s.owner.cfg.Confine(ctx, &c, plan.files); err != nil {
			return nil, fmt.Errorf("it cannot be bound by the sandbox: %w", err)
		}
	}
	if p.process, err = proc.Start(context.WithoutCancel(ctx), c); err != nil {
		return nil, err
	}
	go func() { // ends with the child, for which cut waits
		<-p.process.Done()
		fromChild.Close()
	}()
	return p, nil
}

func (p *program) transport() sdk.Transport { return &sdk.IOTransport{Reader: p.out, Writer: p.in} }

// cut ends the program: by the end of its input, by a signal, and then hard.
func (p *program) cut() {
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
}

// why tells how the program ended, if it has, and what it said last.
func (p *program) why() string {
	select {
	case <-p.process.Done():
	case <-time.After(gentle): // it may be about to
		return p.said.lastWords()
	}
	exit, _ := p.process.Wait() // how it ended is told in any case
	text := fmt.Sprintf("it ended with exit code %d", exit.Code)
	if exit.Signal != "" {
		text = "it was ended by " + exit.Signal
	}
	if last := p.said.lastWords(); last != "" {
		text += ": " + last
	}
	return text
}

// longestMessage bounds a message; the SDK takes no longer ones.
const longestMessage = sdk.DefaultMaxLineLength

// messages lets lines through that are JSON. What else a program prints there, such as
// a greeting, would end the connection.
type messages struct {
	to    io.Writer
	other io.Writer
	tasks *tasks // reads the messages; may be nil
	line  []byte
}

func (m *messages) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		piece, rest, whole := bytes.Cut(p, []byte{'\n'})
		m.line = append(m.line, piece...)
		if len(m.line) > longestMessage {
			return 0, fmt.Errorf("a message of more than %d bytes", longestMessage)
		}
		if whole {
			if err := m.pass(); err != nil {
				return 0, err
			}
		}
		p = rest
	}
	return n, nil
}

func (m *messages) pass() error {
	line := bytes.Trim(m.line, " \t\r") // what JSON allows around a value
	m.line = append(m.line, '\n')
	defer func() { m.line = m.line[:0] }()
	to := m.to
	if len(line) == 0 || line[0] != '{' && line[0] != '[' || !json.Valid(line) {
		to = m.other
	} else if m.tasks != nil {
		m.tasks.read(line)
	}
	_, err := to.Write(m.line)
	return err
}

// said passes what a program says besides messages on to the log, a line at a time.
type said struct {
	server *server

	mu   sync.Mutex // two pipes lead here
	line []byte
	last string
}

const longestLine = 2000 // of the log

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		piece, rest, whole := bytes.Cut(p, []byte{'\n'})
		if room := longestLine - len(s.line); room > 0 {
			s.line = append(s.line, piece[:min(len(piece), room)]...)
		}
		if whole {
			s.tell()
		}
		p = rest
	}
	return n, nil
}

func (s *said) tell() {
	text := plain(string(s.line), longestLine)
	s.line = s.line[:0]
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	text = s.server.owner.cfg.Hide(text)
	s.server.owner.cfg.Log.Info("an MCP server says", "server", s.server.Name, "text", text)
	s.last = text
}

func (s *said) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return plain(s.last, 300)
}
