package acp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// Terminals returns the terminals of the client, or nil if it has none.
func (c *Client) Terminals(sessionID string) shell.Terminals {
	if !c.can.Load().Terminal {
		return nil
	}
	return terminals{c, sessionID}
}

type terminals struct {
	client  *Client
	session string
}

// Run starts a command in a terminal of the client, waits for it, and releases the terminal. If ctx
// ends, Run kills the command and returns its output with the error.
func (t terminals) Run(ctx context.Context, args []string, dir string, env []string, limit int, shown func(id string)) (output string, truncated bool, exitCode int, err error) {
	request := acp.CreateTerminalRequest{
		SessionID: t.session, Command: args[0], Args: args[1:], Env: variables(env), Cwd: dir, OutputByteLimit: limit,
	}
	var created acp.CreateTerminalResponse
	if err := t.ask(ctx, acp.MethodTerminalCreate, request, &created); err != nil {
		return "", false, 0, fmt.Errorf("opening a terminal in the editor: %w", err)
	}
	terminal := acp.TerminalRequest{SessionID: t.session, TerminalID: created.TerminalID}
	defer func() {
		if e := t.end(ctx, acp.MethodTerminalRelease, terminal, &struct{}{}); e != nil {
			err = errors.Join(err, fmt.Errorf("releasing the editor's terminal: %w", e))
		}
	}()
	shown(created.TerminalID)

	var exit acp.WaitForTerminalExitResponse
	waited := t.client.peer.Call(ctx, acp.MethodTerminalWait, terminal, &exit)
	if waited != nil {
		if e := t.end(ctx, acp.MethodTerminalKill, terminal, &struct{}{}); e != nil {
			waited = errors.Join(waited, fmt.Errorf("killing the command: %w", e))
		}
	}
	var got acp.TerminalOutputResponse
	if err := t.end(ctx, acp.MethodTerminalOutput, terminal, &got); err != nil {
		return "", false, exitOf(exit), errors.Join(waited, fmt.Errorf("reading the editor's terminal: %w", err))
	}
	if waited != nil {
		waited = fmt.Errorf("waiting for the command in the editor's terminal: %w", waited)
	}
	return got.Output, got.Truncated, exitOf(exit), waited
}

// canceledLimit is the client's time for each request that ends the terminal of a canceled command.
// There are three, and a cancel takes effect within a second.
const canceledLimit = 300 * time.Millisecond

// end sends a request to the client, also after a cancel.
func (t terminals) end(ctx context.Context, method string, params, result any) error {
	limit := answerLimit
	if ctx.Err() != nil {
		limit = canceledLimit
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return t.client.peer.Call(ctx, method, params, result)
}

// ask sends a request that the client can answer at once.
func (t terminals) ask(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return t.client.peer.Call(ctx, method, params, result)
}

func variables(env []string) []acp.EnvVariable {
	vars := make([]acp.EnvVariable, 0, len(env))
	for _, v := range env {
		if name, value, ok := strings.Cut(v, "="); ok && name != "" {
			vars = append(vars, acp.EnvVariable{Name: name, Value: value})
		}
	}
	return vars
}

// signals maps the usual signals that end commands to their numbers.
var signals = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9,
	"SEGV": 11, "PIPE": 13, "ALRM": 14, "TERM": 15,
}

// exitOf returns the exit code as a shell does: 128 plus the signal, if a signal ended the command.
func exitOf(e acp.ExitStatus) int {
	switch {
	case e.ExitCode != nil:
		return *e.ExitCode
	case e.Signal == nil:
		return 0
	}
	if n, err := strconv.Atoi(*e.Signal); err == nil {
		return 128 + n
	}
	if n := signals[strings.TrimPrefix(strings.ToUpper(*e.Signal), "SIG")]; n > 0 {
		return 128 + n
	}
	return 128
}
