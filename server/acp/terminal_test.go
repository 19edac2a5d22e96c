package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/server"
	face "github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// terminalPeer is a client with terminals.
type terminalPeer struct {
	asked   []string
	created acp.CreateTerminalRequest
	exit    acp.ExitStatus
	running chan struct{} // nil: the command has ended
	silent  bool          // no answer after the command was canceled
	limits  []time.Duration
}

func (p *terminalPeer) Post(string, wire.Note) error { return nil }

func (p *terminalPeer) Drain(context.Context, int) error { return nil }

func (p *terminalPeer) Call(ctx context.Context, method string, params, result any) error {
	p.asked = append(p.asked, method)
	if end, limited := ctx.Deadline(); limited {
		p.limits = append(p.limits, time.Until(end))
	}
	if p.silent && method != acp.MethodTerminalCreate && method != acp.MethodTerminalWait {
		<-ctx.Done()
		return ctx.Err()
	}
	var answer any = struct{}{}
	switch method {
	case acp.MethodTerminalCreate:
		p.created = params.(acp.CreateTerminalRequest)
		answer = acp.CreateTerminalResponse{TerminalID: "t1"}
	case acp.MethodTerminalWait:
		if p.running != nil {
			close(p.running)
			<-ctx.Done()
			return ctx.Err()
		}
		answer = p.exit
	case acp.MethodTerminalOutput:
		answer = acp.TerminalOutputResponse{Output: "some output", Truncated: true}
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, result)
}

func newTerminals(t *testing.T, p *terminalPeer) *face.Agent {
	svc := app.New(server.Options{Home: t.TempDir()})
	t.Cleanup(func() { _ = svc.Close() })
	a := face.NewAgent(svc, p, face.Options{})
	if a.Client.Terminals("s") != nil {
		t.Error("terminals without the capability")
	}
	a.Client.SetCapabilities(acp.ClientCapabilities{Terminal: true})
	return a
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	code, signal, number := 3, "SIGKILL", "15"
	for _, c := range []struct {
		exit acp.ExitStatus
		want int
	}{
		{acp.ExitStatus{ExitCode: &code}, 3},
		{acp.ExitStatus{Signal: &signal}, 137},
		{acp.ExitStatus{Signal: &number}, 143},
		{acp.ExitStatus{}, 0},
	} {
		p := &terminalPeer{exit: c.exit}
		shown := ""
		output, truncated, exit, err := newTerminals(t, p).Client.Terminals("s").Run(t.Context(),
			[]string{"sh", "-c", "true"}, "/tmp", []string{"A=b=c", "=odd"}, 1000, func(id string) { shown = id })
		if err != nil || output != "some output" || !truncated || exit != c.want || shown != "t1" {
			t.Errorf("%q %v %d %q %v, want exit %d", output, truncated, exit, shown, err, c.want)
		}
		if !slices.Equal(p.asked, []string{acp.MethodTerminalCreate, acp.MethodTerminalWait, acp.MethodTerminalOutput, acp.MethodTerminalRelease}) {
			t.Errorf("asked %v", p.asked)
		}
		if p.created.Command != "sh" || len(p.created.Args) != 2 || p.created.Cwd != "/tmp" || p.created.OutputByteLimit != 1000 ||
			!slices.Equal(p.created.Env, []acp.EnvVariable{{Name: "A", Value: "b=c"}}) {
			t.Errorf("created %+v", p.created)
		}
	}
}

func TestTerminalIsKilledOnCancel(t *testing.T) {
	t.Parallel()
	p := &terminalPeer{running: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-p.running; cancel() }()
	output, _, _, err := newTerminals(t, p).Client.Terminals("s").Run(ctx, []string{"sleep", "9"}, "/tmp", nil, 1000, func(string) {})
	if !errors.Is(err, context.Canceled) || output != "some output" {
		t.Errorf("%q, %v", output, err)
	}
	if !slices.Equal(p.asked, []string{acp.MethodTerminalCreate, acp.MethodTerminalWait, acp.MethodTerminalKill, acp.MethodTerminalOutput, acp.MethodTerminalRelease}) {
		t.Errorf("asked %v", p.asked)
	}
}

func TestTerminalOfASilentClient(t *testing.T) {
	t.Parallel()
	p := &terminalPeer{running: make(chan struct{}), silent: true}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-p.running; cancel() }()
	_, _, _, err := newTerminals(t, p).Client.Terminals("s").Run(ctx, []string{"sleep", "9"}, "/tmp", nil, 1000, func(string) {})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !slices.Equal(p.asked, []string{acp.MethodTerminalCreate, acp.MethodTerminalWait, acp.MethodTerminalKill, acp.MethodTerminalOutput, acp.MethodTerminalRelease}) {
		t.Errorf("asked %v", p.asked)
	}
	var sum time.Duration
	for _, limit := range p.limits[1:] { // the first is for opening the terminal
		sum += limit
	}
	if len(p.limits) != 4 || sum > time.Second {
		t.Errorf("the client has %v to answer", p.limits)
	}
}
