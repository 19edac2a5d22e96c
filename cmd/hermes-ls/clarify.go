package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools"
)

// CanClarify reports whether a user is at the terminal.
func (h *terminalHost) CanClarify() bool { return h.in != nil }

// Clarify shows a question at the terminal. The user types the number of a choice or a
// text.
func (h *terminalHost) Clarify(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	if q.Form != nil || q.Address != "" {
		return tools.Answer{Kind: tools.AnswerLater}, nil // asked again in parts
	}
	h.mu.Lock()
	h.endLine()
	fmt.Fprintf(h.progress, "\n%s\n", q.Question)
	for i, choice := range q.Choices {
		fmt.Fprintf(h.progress, "  %d  %s\n", i+1, choice)
	}
	if q.Server {
		fmt.Fprint(h.progress, "  answer: ")
	} else {
		fmt.Fprint(h.progress, "  answer (empty: leave it to the model): ")
	}
	h.mu.Unlock()
	line, err := h.line(ctx)
	if err != nil {
		return tools.Answer{}, err
	}
	return chosen(line, q), nil
}

func chosen(line string, q tools.ClarifyRequest) tools.Answer {
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Choices) {
		line = q.Choices[n-1]
	}
	switch {
	case line == "" && !q.Server:
		return tools.Answer{Kind: tools.AnswerYou}
	case !q.Takes(line):
		return tools.Answer{}
	}
	return tools.Answer{Kind: tools.AnswerGiven, Text: line}
}

// line returns the user's next line. It discards lines typed before the question, such as a late
// answer to an earlier question.
func (h *terminalHost) line(ctx context.Context) (string, error) {
	defer h.setAsking(h.setAsking(true))
	h.typing.Do(func() {
		h.typed = make(chan string)
		go h.read() // ends with the input, or with the process
	})
	for waiting := true; waiting; {
		select {
		case _, waiting = <-h.typed:
		default:
			waiting = false
		}
	}
	select {
	case line, ok := <-h.typed:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (h *terminalHost) read() {
	defer close(h.typed)
	for {
		line, err := h.in.ReadString('\n')
		if err != nil {
			return
		}
		h.typed <- strings.TrimSpace(line)
	}
}

// setAsking sets whether a question waits for its answer, and returns the value before.
func (h *terminalHost) setAsking(asking bool) (before bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, h.asking = h.asking, asking
	return before
}
