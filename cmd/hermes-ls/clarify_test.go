package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

func TestChosen(t *testing.T) {
	t.Parallel()
	choice := tools.ClarifyRequest{Choices: []string{"SQLite", "42"}}
	free := tools.ClarifyRequest{Choices: []string{"SQLite", "42"}, FreeText: true}
	for _, tc := range []struct {
		line string
		q    tools.ClarifyRequest
		want tools.Answer
	}{
		{"1", choice, tools.Answer{Kind: tools.AnswerGiven, Text: "SQLite"}},
		{"42", choice, tools.Answer{Kind: tools.AnswerGiven, Text: "42"}},
		{"3", choice, tools.Answer{}},
		{"DuckDB", choice, tools.Answer{}},
		{"DuckDB", free, tools.Answer{Kind: tools.AnswerGiven, Text: "DuckDB"}},
		{"3", free, tools.Answer{Kind: tools.AnswerGiven, Text: "3"}},
		{"", free, tools.Answer{Kind: tools.AnswerYou}},
	} {
		if got := chosen(tc.line, tc.q); got != tc.want {
			t.Errorf("%q: %+v, want %+v", tc.line, got, tc.want)
		}
	}
}

// TestLateLine checks that a line typed after the timeout of a question does not answer a later
// question.
func TestLateLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, keyboard := io.Pipe()
		h := &terminalHost{in: bufio.NewReader(in), progress: io.Discard}
		typeLine := func(text string) {
			if _, err := fmt.Fprintln(keyboard, text); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if a, err := h.Clarify(ctx, tools.ClarifyRequest{Question: "Which?", FreeText: true}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", a, err)
		}
		typeLine("always")
		decided := make(chan tools.Decision)
		go func() {
			d, _ := h.AskPermission(t.Context(), tools.ApprovalRequest{Title: "rm -rf x"})
			decided <- d
		}()
		synctest.Wait()
		typeLine("no")
		if d := <-decided; d != tools.DecisionDeny {
			t.Errorf("a late line decided: %s", d)
		}
		if err := keyboard.Close(); err != nil {
			t.Error(err)
		}
		if d, err := h.AskPermission(t.Context(), tools.ApprovalRequest{}); d != tools.DecisionDeny || !errors.Is(err, io.EOF) {
			t.Errorf("at the end of the input: %s, %v", d, err)
		}
	})
}
