package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
	"github.com/hermes-ls/hermes-ls/agent/model/openai/chattest"
)

// TestServersOfCalls sends a history with calls to servers that refuse null beside calls, text
// beside calls, or ids of other vendors. The client learns each form from one refusal, and
// remembers it.
func TestServersOfCalls(t *testing.T) {
	t.Parallel()
	log := []model.Message{
		model.NewMessage(model.User, "go"),
		model.ResponseMessage("", "", model.Call{ID: "functions.read_file:0", Name: "read_file", Args: "{}"}),
		model.ResultMessage("functions.read_file:0", "read_file", "{}"),
		model.ResponseMessage("", "I look once more.", model.Call{ID: "call_abcdefghijklmnopqrstuvwxyz0123456789_much_too_long", Name: "read_file", Args: "{}"}),
		model.ResultMessage("call_abcdefghijklmnopqrstuvwxyz0123456789_much_too_long", "read_file", "{}"),
	}
	fine := func(w http.ResponseWriter, _ []byte) { io.WriteString(w, modeltest.Fine) }
	for name, c := range map[string]struct {
		server   *chattest.Server
		refusals int
	}{
		"OpenAI's rules": {&chattest.Server{Next: fine}, 0},
		"no null":        {&chattest.Server{Next: fine, Text: true}, 1},
		"Mistral":        {&chattest.Server{Next: fine, Mistral: true}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.Serve(t, c.server.ServeHTTP)
			for range 2 {
				if _, _, err := modeltest.Ask(t.Context(), m, &model.Request{Messages: log, Tools: someTools}); err != nil {
					t.Fatal(err, c.server.Refusals())
				}
			}
			if got := c.server.Refusals(); len(got) > c.refusals || c.server.Accepted() != 2 {
				t.Errorf("%d accepted, refusals %q", c.server.Accepted(), got)
			}
		})
	}
}

// TestNoSystemMessage checks endpoints and templates without system messages. The system prompt
// then begins the first user message. The client learns this from a refusal.
func TestNoSystemMessage(t *testing.T) {
	t.Parallel()
	for status, message := range map[int]string{
		500: "Value is not callable... System role not supported",
		400: "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
		422: "Only user and assistant roles are supported!",
		403: "System role not supported",
	} {
		var sent [][]byte
		m := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				return
			}
			body, _ := io.ReadAll(r.Body)
			sent = append(sent, body)
			if strings.Contains(string(body), `"role":"system"`) {
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"error":{"message":%q}}`, message)
				return
			}
			io.WriteString(w, modeltest.Fine)
		})
		req := &model.Request{System: "You help.", Messages: []model.Message{model.NewMessage(model.User, "hi")}, Tools: someTools}
		_, _, err := modeltest.Ask(t.Context(), m, req)
		if status == 403 {
			if err == nil {
				t.Error("a refused key is taken for a refused system message")
			}
			continue
		}
		if _, _, again := modeltest.Ask(t.Context(), m, req); err != nil || again != nil || len(sent) != 3 {
			t.Fatalf("%d %s: asked %d times, %v, %v", status, message, len(sent), err, again)
		}
		if want := `[{"role":"user","content":"You help.\n\nhi"}]`; !strings.Contains(string(sent[2]), want) {
			t.Errorf("no %s in %s", want, sent[2])
		}
	}
}

// TestEmptyContent refuses both null and an empty text beside calls. There must be no endless
// retry.
func TestEmptyContent(t *testing.T) {
	t.Parallel()
	log := []model.Message{
		model.NewMessage(model.User, "go"), model.ResponseMessage("", "", model.Call{ID: "a", Name: "read_file", Args: "{}"}), model.ResultMessage("a", "read_file", "{}"),
	}
	asked := 0
	m := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		asked++
		w.WriteHeader(400)
		io.WriteString(w, map[bool]string{
			true:  `{"error":{"message":"messages.1.content: Input should be a valid string, got null"}}`,
			false: `{"error":{"message":"messages.1.content: text content must not be empty"}}`,
		}[asked%2 == 1])
	})
	_, _, err := modeltest.Ask(t.Context(), m, &model.Request{Messages: log, Tools: someTools})
	e := modeltest.CheckError(t, err, model.ErrRequest, "content")
	if asked > 3 || e.Named != 2 {
		t.Errorf("asked %d times, named %d", asked, e.Named)
	}
}
