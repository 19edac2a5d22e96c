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
	"github.com/hermes-ls/hermes-ls/extension"
)

// Command is a slash command: a prompt that begins with its name is for us, not for
// the model.
type Command struct {
	extension.Command
	answer slashFunc
	start  func(x *Session, args string, also agent.Sink) *Turn // takes a turn's place; nil: answer
}

// slashFunc does the work of a slash command and returns its report. It runs beside a turn.
type slashFunc func(x *Session, ctx context.Context, args string) (string, error)

// answers has the functions of our own slash commands, by their names in the table.
func answers() map[string]Command {
	return map[string]Command{
		"help":     {answer: (*Session).help},
		"status":   {answer: (*Session).statusText},
		"model":    {answer: option(optionModel)},
		"mode":     {answer: option(optionMode)},
		"think":    {answer: option(optionThought)},
		"compact":  {start: (*Session).StartCompaction},
		"undo":     {answer: (*Session).undoPrompt},
		"new":      {answer: (*Session).beginAnew},
		"fork":     {answer: (*Session).forkHere},
		"sessions": {answer: (*Session).listSessions},
		"title":    {answer: (*Session).retitle},
		"notes":    {answer: (*Session).renote},
		"tools":    {answer: (*Session).listTools},
	}
}

// Commands returns the slash commands of the session: ours, and those of extensions.
func (x *Session) Commands() []Command {
	var all []Command
	ours := answers()
	for _, row := range table {
		if c, ok := ours[row.Name]; ok {
			c.Command = row
			all = append(all, c)
		}
	}
	for _, c := range x.extensions.Commands() {
		all = append(all, Command{
			Command: c,
			answer:  func(_ *Session, ctx context.Context, args string) (string, error) { return c.Run(ctx, args) },
		})
	}
	slices.SortStableFunc(all, func(a, b Command) int { return cmp.Compare(a.Order, b.Order) })
	return all
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
	unknown := func(*Session, context.Context, string) (string, error) { return x.unknownCommand(name), nil }
	return Command{Command: extension.Command{Name: name}, answer: unknown}, args, true
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
