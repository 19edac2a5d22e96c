package agent

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed compact.md
var compactWords string

const (
	notesWords   = 1500 // of notes, at most
	notesReserve = 0.2  // share of the context window, without its fixed part, reserved for the notes
	wordsOfToken = 0.6
	earlierText  = "(Earlier messages of this conversation are left out here: they do not fit.)"
)

// askForNotes asks for notes: first the model of [Config.Notes], if any, then the session's.
// The request to the session's model adds a message to the previous request, so the prompt
// cache applies. If it is too long, only the newest messages are sent.
func (t *turn) askForNotes(ctx context.Context, hints string) (string, *model.Usage, error) {
	var reply *model.Reply
	err := errors.New("no other model")
	if small := t.notesModel(); small != nil {
		room := model.WindowOf(small) - t.history.gauge.fixed()
		if reply, err = t.notesOf(ctx, small, t.forNotes(room), notesText(hints, room)); err != nil && ctx.Err() == nil && limitOf(err) == nil {
			t.notice("The notes of the compaction are written by the session's model: %v", err)
		}
	}
	room := t.room()
	text := notesText(hints, room)
	if err != nil && limitOf(err) == nil {
		reply, err = t.notesOf(ctx, t.config.Model, t.forNotes(room), text)
		t.learn(err)
	}
	if overflowed(err) {
		reply, err = t.notesOf(ctx, t.config.Model, t.forNotes(min(t.room(), room/2)), text)
	}
	var usage *model.Usage
	if reply.Usage != (model.Usage{}) {
		usage = &reply.Usage
	}
	notes := strings.TrimSpace(reply.Text)
	if err == nil && notes == "" {
		err = errors.New("it answered with nothing")
	}
	return notes, usage, err
}

// notesText returns the prompt for notes of a suitable length for a window of room tokens.
func notesText(hints string, room int) string {
	words := min(notesWords, int(float64(room)*notesReserve*wordsOfToken))
	text := strings.Replace(compactWords, "1,500 words", fmt.Sprintf("%d words", max(words, 100)), 1)
	if words == notesWords {
		text = compactWords
	}
	if hints = strings.TrimSpace(hints); hints != "" {
		text += "\nThe user adds: " + hints + "\n"
	}
	return text
}

// notesModel returns the model of [Config.Notes], or nil.
func (t *turn) notesModel() model.Model {
	if t.config.Notes == nil {
		return nil
	}
	return t.config.Notes()
}

// forNotes returns the source messages of the notes: all of them, or the first and the newest
// messages that fit a window of room tokens. The first is the user's first prompt, or the
// summary with the earlier notes, so no compaction loses them. If messages are left out, the
// rest lose their state, and long texts are cut.
func (t *turn) forNotes(room int) []model.Message {
	all := t.history.messages
	most := room - int(notesReserve*float64(room)) - notesTokens
	if t.history.tokensFrom(0) <= most {
		return all
	}
	first, newest := clipped(all[0].Text(), max(most/notesFirst, 0)*bytesPerToken), []model.Message(nil) // the first prompt, or the summary of earlier messages
	most -= t.history.gauge.scaled(tools.Tokens(first)) + notesTokens/4
	left := false
	for i := len(all) - 1; i > 0; i-- {
		m := withoutState(all[i], nil)
		if limit := max(most/3, 0); t.history.gauge.scaled(weight(&m)) > limit {
			m = cutTo(m, limit*bytesOfResult)
		}
		if most -= t.history.gauge.scaled(weight(&m)); most < 0 {
			left = true
			break
		}
		newest = append(newest, m)
	}
	slices.Reverse(newest)
	for len(newest) > 0 && newest[0].Role == model.ToolRole {
		newest, left = newest[1:], true // its call is missing
	}
	if left {
		first += "\n\n" + earlierText
	}
	start := []model.Message{model.NewMessage(model.User, first)}
	if len(newest) > 0 && newest[0].Role == model.User {
		start = append(start, emptyMessage(nil).Message)
	}
	return append(start, newest...)
}

// notesFirst is the divisor of the room: the first message gets at most room/notesFirst.
const notesFirst = 3

// notesTokens is about the size of the prompt for notes.
const notesTokens = 300

// cutTo returns a message cut to about limit bytes of texts and arguments.
func cutTo(m model.Message, limit int) model.Message {
	parts := slices.Clone(m.Parts)
	each := limit / max(len(parts), 1)
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case model.TextType, model.ReasoningType:
			p.Text = clipped(p.Text, each)
		case model.ResultType:
			if len(p.Text) <= each {
				continue
			}
			if object, err := json.Marshal(map[string]string{"start_of_result": clipped(p.Text, each)}); err == nil { // some APIs want an object
				p.Text = string(object)
			}
		case model.CallType:
			if len(p.Call.Args) > each {
				p.Call.Args = emptyArgs
			}
		case model.ImageType:
			*p = model.TextPart("[picture]")
		}
	}
	m.Parts = parts
	return m
}

func (t *turn) notesOf(ctx context.Context, from model.Model, messages []model.Message, text string) (*model.Reply, error) {
	messages = slices.Clip(messages)
	if n := len(messages); n > 0 && messages[n-1].Role != model.Assistant {
		messages = append(messages, emptyMessage(nil).Message)
	}
	request := &model.Request{
		Model: t.head.Model, System: t.head.System, Tools: t.head.Tools, Effort: t.effort, SessionID: t.id, Turn: t.prompt.ID,
		Messages: append(messages, model.NewMessage(model.User, text)),
	}
	if from != t.config.Model {
		request.Model, request.Effort = "", ""
	}
	reply := &model.Reply{CallsBefore: len(t.history.ids)}
	for delta, err := range from.Stream(ctx, request) {
		if err != nil {
			return reply, err
		}
		if delta.Notice != "" {
			t.sink.Event(Notice{Text: delta.Notice, Passing: !delta.Lasting})
		}
		if err := reply.Add(delta); err != nil {
			return reply, err
		}
	}
	return reply, nil
}
