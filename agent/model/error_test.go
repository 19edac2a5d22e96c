package model_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

func TestErrorIsASentence(t *testing.T) {
	t.Parallel()
	kinds := []model.ErrorKind{model.ErrNoKey, model.ErrAuth, model.ErrCredit, model.ErrBusy, model.ErrDown, model.ErrServer,
		model.ErrRequest, model.ErrStalled, model.ErrCut, model.ErrGarbage, model.ErrOverflow, model.ErrModel, model.ErrPolicy, model.ErrState}
	seen := map[string]model.ErrorKind{}
	for _, k := range kinds {
		e := &model.Error{Kind: k, Endpoint: "https://api.example/v1", Model: "m", Status: 418, Message: "it said so.", Err: io.ErrUnexpectedEOF}
		text := e.Error()
		if !strings.Contains(text, "https://api.example/v1") || !strings.Contains(text, ": it said so.") {
			t.Errorf("%s: %q lacks the place or the message", k, text)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s reads the same as %s: %q", k, other, text)
		}
		seen[text] = k
		if !errors.Is(e, io.ErrUnexpectedEOF) {
			t.Errorf("%s: the cause is lost", k)
		}
	}
	if text := (&model.Error{Kind: model.ErrNoKey}).Error(); !strings.Contains(text, "model.api_key") || !strings.Contains(text, "embedded") {
		t.Errorf("%q does not say how to set a key", text)
	}
	busy := &model.Error{Kind: model.ErrBusy, RetryAfter: 3 * time.Minute}
	if !strings.Contains(busy.Error(), "in 3 min") {
		t.Errorf("%q does not say when to try again", busy.Error())
	}
}

// TestErrorNamesTheSetting checks the next step in errors: it names the settings for the
// address and the key.
func TestErrorNamesTheSetting(t *testing.T) {
	t.Parallel()
	e := model.Error{Kind: model.ErrDown, Endpoint: "http://x/v1", Provider: "mine", Model: "m", AddressIn: "providers.mine.base_url", KeyIn: "providers.mine.api_key"}
	if want := "mine at http://x/v1 cannot be reached. Check that it runs, and providers.mine.base_url."; e.Error() != want {
		t.Errorf("%q, want %q", e.Error(), want)
	}
	e.Kind, e.Status = model.ErrAuth, 401
	if want := "mine at http://x/v1 refused the key for m (401). Check providers.mine.api_key. The key is tried again with your next prompt."; e.Error() != want {
		t.Errorf("%q, want %q", e.Error(), want)
	}
}

func TestErrorNamesTheAPI(t *testing.T) {
	t.Parallel()
	e := &model.Error{Kind: model.ErrRequest, Endpoint: "https://x/v1", Provider: "mine", Model: "m", Status: 404, Message: "page not found"}
	if want := "mine at https://x/v1 refused the request for m (404): page not found. Check model.base_url and providers.mine.api: the address may have another API."; e.Error() != want {
		t.Errorf("%q, want %q", e.Error(), want)
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "1 s", 1500 * time.Millisecond: "2 s", 90 * time.Second: "90 s", 10 * time.Minute: "10 min", 130 * time.Minute: "2 h 10 min",
	} {
		if got := model.Wait(d); got != want {
			t.Errorf("Wait(%v) = %q, want %q", d, got, want)
		}
	}
}
