package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/spelling"
)

// Command is a slash command. A prompt with its name at the start is not sent to the model.
type Command struct {
	*extension.Command
	start func(x *Session, args string, also agent.Sink) *Turn // takes a turn's place; nil: Run
}

// slashFunc does the work of a slash command and returns its answer. It runs beside a turn.
type slashFunc func(ctx context.Context, x *Session, args string) (string, error)

// answers returns the functions of our own slash commands, by their names in the table.
func answers() map[string]slashFunc {
	return map[string]slashFunc{
		"help":     help,
		"status":   statusText,
		"usage":    usageText,
		"model":    modelCommand(),
		"mode":     option(optionMode),
		"think":    option(optionThought),
		"undo":     undo(),
		"new":      clearSession,
		"fork":     forkHere,
		"sessions": listSessions,
		"title":    retitle,
		"notes":    renote,
		"tools":    listTools,
	}
}

// Commands returns the slash commands of the session, its extensions' included.
func (x *Session) Commands() []Command {
	ours, others := answers(), x.extensions.Commands()
	all := make([]Command, 0, len(ours)+len(others))
	for _, row := range table {
		if answer, ok := ours[row.Name]; ok {
			row.Run = func(ctx context.Context, args string) (string, error) { return answer(ctx, x, args) }
			all = append(all, Command{Command: &row})
		} else if row.Name == "compact" {
			all = append(all, Command{&row, (*Session).StartCompaction})
		}
	}
	for _, c := range others {
		all = append(all, Command{Command: c})
	}
	slices.SortStableFunc(all, func(a, b Command) int { return cmp.Compare(a.Order, b.Order) })
	return all
}

// commandOf returns the command in a prompt. For an unknown command, it returns a command that
// reports this. If the prompt starts with a path or with no slash, it returns false.
func commandOf(x *Session, in agent.Input) (c Command, args string, ok bool) {
	line, is := strings.CutPrefix(in.Text, "/")
	if !is || in.Plain || len(in.Calls) > 0 {
		return c, "", false
	}
	name := line
	if end := strings.IndexAny(line, " \n\t\r"); end >= 0 {
		name, args = line[:end], strings.TrimSpace(line[end:])
	}
	name = strings.ToLower(name)
	for _, c := range x.Commands() {
		if strings.EqualFold(c.Name, name) || c.Alias != "" && strings.EqualFold(c.Alias, name) {
			return c, args, true
		}
	}
	if !commandLike(name) || len(in.Images)+len(in.Context) > 0 {
		return c, "", false
	}
	if _, err := os.Lstat("/" + name); err == nil { // /etc is …
		return c, "", false
	}
	return Command{Command: &extension.Command{Name: name, Run: func(context.Context, string) (string, error) { return unknownCommand(x, name), nil }}}, args, true
}

func commandLike(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func unknownCommand(x *Session, name string) string {
	var names []string
	for _, c := range x.Commands() {
		names = append(names, c.Name)
	}
	text := fmt.Sprintf("There is no command `/%s`.", name)
	if near := spelling.Near(name, names); len(near) > 0 {
		text += " Did you mean `/" + strings.Join(near, "` or `/") + "`?"
	}
	return text + " `/help` lists those there are. Nothing was sent to the model; to send it, begin with another character than `/`."
}

// startCommand runs a command. If the command only answers, it runs beside the turns in the queue.
func startCommand(x *Session, c Command, in agent.Input, args string, also agent.Sink) *Turn {
	if c.start != nil {
		return c.start(x, args, also)
	}
	if c.Prompt != nil {
		if text := c.Prompt(args); text != "" {
			row := *c.Command
			c.Command = &row
			row.Send = func(ctx context.Context, args string) (extension.Sent, error) {
				notice, err := c.Run(ctx, args)
				return extension.Sent{Notice: notice, Text: text}, err
			}
		}
	}
	if c.Send != nil {
		return startMade(x, c, in, args, also)
	}
	return x.queue.beside(func(ctx context.Context) (agent.StopReason, error) {
		sink := x.notifier.sink(also)
		sink.Event(agent.UserMessage{MessageID: store.NewID(), Text: in.Text})
		text, err := c.Run(ctx, args)
		switch {
		case ctx.Err() != nil:
			return agent.Cancelled, nil
		case err != nil:
			text = notDone(err)
		}
		sink.Event(agent.Text{MessageID: store.NewID(), Text: strings.TrimSpace(text) + "\n", Failed: err != nil})
		return agent.EndTurn, nil
	})
}

// startMade sends the prompt made by a command in the turn.
func startMade(x *Session, c Command, in agent.Input, args string, also agent.Sink) *Turn {
	return x.start("", func(ctx context.Context) (agent.StopReason, error) {
		if err := errors.Join(x.settings.ready(), x.Begin(ctx)); err != nil {
			return "", err
		}
		made, err := c.Send(ctx, args)
		if ctx.Err() != nil {
			return agent.Cancelled, nil
		}
		if err != nil {
			made.Notice = notDone(err)
		}
		if made.Notice != "" {
			x.notifier.sink(also).Event(agent.Notice{Text: made.Notice})
		}
		if err != nil {
			return agent.EndTurn, nil
		}
		if made.Own != "" { // the user sees the text, because it is not the user's
			x.notifier.sink(also).Event(agent.Notice{Text: "Sent to the model:", More: made.Text})
		}
		return x.prompt(ctx, agent.Input{ID: in.ID, Text: made.Text, Typed: in.TypedText(), Piped: in.Piped, Own: made.Own, Route: made.Route, Images: in.Images, Context: in.Context, Calls: made.Calls}, also)
	})
}

// donePartly is the error of a command that has done a part of its work, which its text names.
type donePartly struct{ error }

func (e *donePartly) Unwrap() error { return e.error }

// notDone returns a sentence with the error of a command, without the name of a parameter.
func notDone(err error) string {
	text := err.Error()
	if partly := (*donePartly)(nil); errors.As(err, &partly) {
		return "Not all is done. " + strings.TrimSuffix(text, ".") + "."
	}
	if input := (*InputError)(nil); errors.As(err, &input) {
		text = input.Text
	}
	return "Not done: " + strings.TrimSuffix(text, ".") + "."
}
