package extension

import (
	"context"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Command is a row of the command table: one command with its name on each face. A face without a
// name for it lacks the command. The table feeds the slash commands, and with them /help and the
// list of the Agent Client Protocol. It also feeds the list of workspace/executeCommand, the
// palette of VS Code and the subcommands of :Hermes.
//
// An extension adds rows in two ways. Rows for all sessions are in the list of server/app. A
// session's slash commands come from [Commands].
type Command struct {
	Name        string // the slash command, without the slash
	Execute     string // the command of workspace/executeCommand
	VSCode      string // the command of VS Code
	Neovim      string // the subcommand of :Hermes
	Title       string // in the palette of VS Code
	Description string // in lists: a verb and an object
	Hint        string // describes the arguments after Name; empty: none
	Order       int    // in all lists; equal values keep the order of extensions
	Hidden      bool   // it is in no list
	Alias       string // another name of the slash command, in no list; empty: none
	// Sent says that the plugins send the slash command, without code for this row: they have it
	// from a list that is made from the table.
	Sent bool
	// Run runs the slash command and returns the answer for the user, as Markdown. The
	// model sees neither the command nor its answer. Run runs beside a turn.
	Run func(ctx context.Context, args string) (string, error)
	// Prompt returns the prompt to send for the user, after Run and in the same turn. If it is nil
	// or returns "", the command only answers.
	Prompt func(args string) string
	// Send returns the prompt to send for the user. It runs in the turn, in place of Run and
	// Prompt, and may take long. If it fails, nothing is sent.
	Send func(ctx context.Context, args string) (Sent, error)
}

// With returns the slash command with its function.
func (c Command) With(run func(ctx context.Context, args string) (string, error)) Command {
	c.Run = run
	return c
}

// Sent is the prompt of a command.
type Sent struct {
	Notice string // is shown before the prompt; empty: none
	Text   string
	// Own is the part of Text written by the user. References in the rest are not expanded. Empty:
	// all of it.
	Own   string
	Calls []tools.Call // run with the prompt, before the model request
	Route string       // named model for this turn, see delegation.routes; empty: the session's
}
