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
	"github.com/hermes-ls/hermes-ls/tools"
)

// Command is a slash command. A prompt that starts with its name is not sent to the model.
type Command struct {
	extension.Command
	answer slashFunc
	start  func(x *Session, args string, also agent.Sink) *Turn // takes a turn's place; nil: answer
}

// slashFunc does the work of a slash command and returns its answer. It runs beside a turn.
type slashFunc func(ctx context.Context, x *Session, args string) (string, error)

// answers has the functions of our own slash commands, by their names in the table.
func answers() map[string]Command {
	return map[string]Command{
		"help":     {answer: help},
		"status":   {answer: statusText},
		"usage":    {answer: usageText},
		"model":    {answer: option(optionModel)},
		"mode":     {answer: option(optionMode)},
		"think":    {answer: option(optionThought)},
		"compact":  {start: (*Session).StartCompaction},
		"undo":     {answer: undoPrompt},
		"new":      {answer: clearSession},
		"fork":     {answer: forkHere},
		"sessions": {answer: listSessions},
		"title":    {answer: retitle},
		"notes":    {answer: renote},
		"tools":    {answer: listTools},
	}
}

// Commands returns the slash commands of the session, those of extensions included.
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
			answer:  func(ctx context.Context, _ *Session, args string) (string, error) { return c.Run(ctx, args) },
		})
	}
	slices.SortStableFunc(all, func(a, b Command) int { return cmp.Compare(a.Order, b.Order) })
	return all
}

// commandOf returns the command in a prompt. For an unknown command, it returns one whose
// answer says so. If the prompt starts with a path or with no slash, it returns false.
func commandOf(x *Session, in agent.Input) (c Command, args string, ok bool) {
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
		if strings.EqualFold(c.Name, name) {
			return c, args, true
		}
	}
	if !commandLike(name) || len(in.Images)+len(in.Context) > 0 {
		return c, "", false
	}
	if _, err := os.Lstat("/" + name); err == nil { // /etc is …
		return c, "", false
	}
	unknown := func(context.Context, *Session, string) (string, error) { return unknownCommand(x, name), nil }
	return Command{Command: extension.Command{Name: name}, answer: unknown}, args, true
}

func commandLike(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func unknownCommand(x *Session, name string) string {
	const slips = 2 // typing mistakes
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

// startCommand runs a command. One that only answers runs beside the turns in the queue.
func startCommand(x *Session, c Command, in agent.Input, args string, also agent.Sink) *Turn {
	if c.start != nil {
		return c.start(x, args, also)
	}
	if c.Send != nil {
		in.Foreign = c.Foreign
		return startMade(x, in, also, func(ctx context.Context) (string, []tools.Call, error) {
			text, err := c.Send(ctx, args)
			return text, nil, err
		})
	}
	if c.Calls != nil {
		return startMade(x, in, also, func(context.Context) (string, []tools.Call, error) { return c.Calls(args) })
	}
	if c.Prompt != nil {
		if text := c.Prompt(args); text != "" {
			return startCommandPrompt(x, c, agent.Input{ID: in.ID, Text: text, Typed: in.Text, Images: in.Images, Context: in.Context}, args, also)
		}
	}
	return x.queue.beside(func(ctx context.Context) (agent.StopReason, error) {
		sink := x.notifier.sink(also)
		sink.Event(agent.UserMessage{MessageID: store.NewID(), Text: in.Text})
		text, err := c.answer(ctx, x, args)
		switch {
		case ctx.Err() != nil:
			return agent.Cancelled, nil
		case err != nil:
			text = "Not done: " + errorText(err) + "."
		}
		sink.Event(agent.Text{MessageID: store.NewID(), Text: strings.TrimSpace(text) + "\n"})
		return agent.EndTurn, nil
	})
}

// startCommandPrompt runs a command, shows its answer as a notice, and sends its prompt.
func startCommandPrompt(x *Session, c Command, in agent.Input, args string, also agent.Sink) *Turn {
	return x.start("", func(ctx context.Context) (agent.StopReason, error) {
		text, err := c.answer(ctx, x, args)
		if err != nil {
			text = "Not done: " + errorText(err) + "."
		}
		if text != "" {
			x.notifier.sink(also).Event(agent.Notice{Text: text})
		}
		if err != nil {
			return agent.EndTurn, nil
		}
		return x.prompt(ctx, in, also)
	})
}

// startMade sends a prompt that make makes in the turn, with its calls.
func startMade(x *Session, in agent.Input, also agent.Sink, make func(ctx context.Context) (string, []tools.Call, error)) *Turn {
	return x.start("", func(ctx context.Context) (agent.StopReason, error) {
		text, calls, err := make(ctx)
		switch {
		case ctx.Err() != nil:
			return agent.Cancelled, nil
		case err != nil:
			x.notifier.sink(also).Event(agent.Notice{Text: "Not done: " + strings.TrimSuffix(errorText(err), ".") + "."})
			return agent.EndTurn, nil
		}
		return x.prompt(ctx, agent.Input{ID: in.ID, Text: text, Typed: in.Text, Foreign: in.Foreign, Images: in.Images, Context: in.Context, Calls: calls}, also)
	})
}

// errorText returns the text of an error without the name of a parameter.
func errorText(err error) string {
	var input *InputError
	if errors.As(err, &input) {
		return input.Text
	}
	return err.Error()
}
