package embedded_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/embedded"
)

func prompt(text string) model.Message { return model.NewMessage(model.User, text) }

func scripted(lines ...string) model.Message {
	return prompt("Go.\n```hermes-script\n" + strings.Join(lines, "\n") + "\n```")
}

// ask returns the response to the messages, and the number of its pieces.
func ask(ctx context.Context, messages ...model.Message) (r model.Reply, pieces int, err error) {
	for d, err := range (embedded.Model{Name: "embedded"}).Stream(ctx, &model.Request{System: "s", Messages: messages}) {
		if err != nil {
			return r, pieces, err
		}
		if err := r.Add(d); err != nil {
			return r, pieces, err
		}
		pieces++
	}
	return r, pieces, nil
}

func TestScript(t *testing.T) {
	t.Parallel()
	script := scripted(
		`[{"thought":"Hm."},{"text":"I look. "},{"call":{"name":"read_file","args":{"path":"`+strings.Repeat("a", 300)+`"}}},{"call":{"name":"todo","args":"{broken"}}]`,
		"",
		`[{"result":"total_lines"},{"text":" lines, "},{"result":"results.1.summary"},{"finish":"length"}]`)
	first, pieces, err := ask(t.Context(), prompt("Before."), model.ResponseMessage("", "x"), script)
	if err != nil {
		t.Fatal(err)
	}
	if first.Reasoning != "Hm." || first.Text != "I look. " || first.Finish != model.FinishCalls || first.Model != "embedded" || first.Usage.Input == 0 || first.Usage.Output == 0 {
		t.Errorf("%+v", first)
	}
	if len(first.Calls) != 2 || first.Calls[0].Args != `{"path":"`+strings.Repeat("a", 300)+`"}` || first.Calls[1].Args != "{broken" || first.Calls[0].ID == first.Calls[1].ID {
		t.Errorf("%+v", first.Calls)
	}
	if pieces < 6 {
		t.Errorf("it came in %d pieces", pieces)
	}
	second, _, err := ask(t.Context(), script, model.ResponseMessage("", "", first.Calls...),
		model.ResultMessage("", "", `{"total_lines":17,"results":[{},{"summary":"fine"}]}`))
	if err != nil || second.Text != "17 lines, fine" || second.Finish != model.FinishLength {
		t.Errorf("%+v, %v", second, err)
	}
}

// TestNoScript checks the answer about setting up a model: a single sentence.
func TestNoScript(t *testing.T) {
	t.Parallel()
	for name, messages := range map[string][]model.Message{
		"no script": {prompt("Hello.")},
		"the end":   {scripted(`[{"text":"one"}]`), model.ResponseMessage("", "one"), prompt("And now?")},
	} {
		r, _, err := ask(t.Context(), messages...)
		if err != nil || r.Finish != model.FinishStop || !strings.HasPrefix(r.Text, "I am not a real model") || strings.Count(r.Text, ".") > 2 || !strings.Contains(r.Text, "hermes-ls setup") {
			t.Errorf("%s: %q, %v", name, r.Text, err)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for line, kind := range map[string]model.ErrorKind{
		`[{"status":401}]`: model.ErrAuth, `[{"status":500}]`: model.ErrServer, `[{"text":"Half"},{"cut":true},{"text":"never"}]`: model.ErrCut,
	} {
		r, _, err := ask(t.Context(), scripted(line))
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != kind || strings.Contains(r.Text, "never") {
			t.Errorf("%s: %q, %v", line, r.Text, err)
		}
	}
	r, _, err := ask(t.Context(), scripted(`[{"txt":"x"}]`))
	if err != nil || !strings.Contains(r.Text, "txt") {
		t.Errorf("an unknown step: %q, %v", r.Text, err)
	}
}

func TestPauseEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		r, _, err := ask(ctx, scripted(`[{"text":"It "},{"sleep_ms":500},{"text":"comes "},{"sleep_ms":60000},{"text":"never"}]`))
		if r.Text != "It comes " || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("%q, %v after %v", r.Text, err, time.Since(begun))
		}
	})
}
