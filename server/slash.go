package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// Command is a slash command: a prompt that begins with its name is for us, not for
// the model.
type Command struct {
	Name        string // without the slash
	Description string
	Hint        string // what may follow the name; empty: nothing
	Order       int    // among all commands

	// answer does the work and says what came of it. It runs beside a turn.
	answer func(x *Session, ctx context.Context, args string) (string, error)
	// start takes a turn's place instead. Nil: answer.
	start func(x *Session, args string, also agent.Sink) *Turn
}

// Commands returns the slash commands of the session: ours, and those of extensions.
func (x *Session) Commands() []Command {
	all := coreCommands()
	for _, c := range x.extensions.Commands() {
		all = append(all, Command{
			Name: c.Name, Description: c.Description, Hint: c.Hint, Order: c.Order,
			answer: func(_ *Session, ctx context.Context, args string) (string, error) { return c.Run(ctx, args) },
		})
	}
	slices.SortStableFunc(all, func(a, b Command) int { return cmp.Compare(a.Order, b.Order) })
	return all
}

// coreCommands are the commands that need no extension.
func coreCommands() []Command {
	return []Command{
		{Name: "help", Description: "List the commands", Order: 10, answer: (*Session).help},
		{Name: "status", Description: "Show model, usage, mode and sandbox", Order: 20, answer: (*Session).statusText},
		{Name: "model", Description: "Show or choose the model", Hint: "name of a model", Order: 30, answer: option(optionModel)},
		{Name: "mode", Description: "Show or choose what asks before it runs", Hint: "ask or auto", Order: 40, answer: option(optionMode)},
		{Name: "think", Description: "Show or choose how long the model thinks", Hint: "default, low, medium or high", Order: 50, answer: option(optionThought)},
		{Name: "compact", Description: "Sum up the older part of the conversation to make room", Hint: "what matters", Order: 60, start: (*Session).StartCompaction},
		{Name: "undo", Description: "Go back to before your last prompt, files included", Order: 70, answer: (*Session).undoPrompt},
		{Name: "new", Description: "Begin anew here; what was said is kept as another session", Order: 80, answer: (*Session).beginAnew},
		{Name: "fork", Description: "Begin another session with what was said here", Order: 90, answer: (*Session).forkHere},
		{Name: "sessions", Description: "List the sessions of this folder", Order: 120, answer: (*Session).listSessions},
		{Name: "title", Description: "Show or change the session's title", Hint: "a title", Order: 130, answer: (*Session).retitle},
		{Name: "notes", Description: "Show or replace your notes on the session", Hint: "notes; the model does not see them", Order: 140, answer: (*Session).renote},
		{Name: "tools", Description: "List the tools that the model has", Order: 150, answer: (*Session).listTools},
	}
}

// slash tells whether a prompt is a command, or would be one. A path that begins a
// prompt is none.
func (x *Session) slash(in agent.Input) (c Command, args string, ok bool) {
	line, is := strings.CutPrefix(in.Text, "/")
	if !is || len(in.Calls) > 0 {
		return c, "", false
	}
	end := strings.IndexFunc(line, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '\r' })
	if end < 0 {
		end = len(line)
	}
	name := strings.ToLower(line[:end])
	args = strings.TrimSpace(line[end:])
	for _, c := range x.Commands() {
		if c.Name == name {
			return c, args, true
		}
	}
	if !commandLike(name) || len(in.Images)+len(in.Context) > 0 {
		return c, "", false
	}
	if _, err := os.Lstat("/" + name); err == nil { // /etc is …
		return c, "", false
	}
	return Command{Name: name, answer: func(*Session, context.Context, string) (string, error) { return x.unknownCommand(name), nil }}, args, true
}

func commandLike(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func (x *Session) unknownCommand(name string) string {
	const slips = 2 // of the finger
	var near []string
	for distance := range slips + 1 {
		for _, c := range x.Commands() {
			if levenshtein.ComputeDistance(name, c.Name) == distance || distance == 0 && strings.HasPrefix(c.Name, name) {
				near = append(near, "`/"+c.Name+"`")
			}
		}
	}
	text := fmt.Sprintf("There is no command `/%s`.", name)
	if len(near) > 0 {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	return text + " `/help` lists those there are. Nothing was sent to the model; to send it, begin with another character than `/`."
}

// startCommand runs a command. One that only answers has no place in the queue: it
// neither waits for the turn that runs nor ends it.
func (x *Session) startCommand(c Command, in agent.Input, args string, also agent.Sink) *Turn {
	if c.start != nil {
		return c.start(x, args, also)
	}
	t := x.newTurn()
	close(t.first)
	t.work = func(ctx context.Context) (agent.StopReason, error) {
		sink := x.host.Sink(x.id)
		if also != nil {
			sink = both{sink, also}
		}
		sink.Event(agent.UserMessage{MessageID: store.NewID(), Text: in.Text})
		text, err := c.answer(x, ctx, args)
		switch {
		case ctx.Err() != nil:
			return agent.Cancelled, nil
		case err != nil:
			text = "Not done: " + plainly(err) + "."
		}
		sink.Event(agent.Text{MessageID: store.NewID(), Text: strings.TrimSpace(text) + "\n"})
		return agent.EndTurn, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		t.err = fmt.Errorf("session %q: %w", x.id, ErrClosed)
	}
	return t
}

// plainly is an error without the name of a parameter that nobody has written.
func plainly(err error) string {
	var input *InputError
	if errors.As(err, &input) {
		return input.Text
	}
	return err.Error()
}
