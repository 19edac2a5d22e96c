package agent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini/geminitest"
	anthropic "github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/messages/standin"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/openai/chattest"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
	"github.com/hermes-ls/hermes-ls/agent/model/responses/responsestest"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// strict is a server as strict about requests as the real API. It answers with the queued
// streams, unchanged, and then with a short text.
type strict struct {
	api   api.API
	check func() http.Handler
	form  func(oddReply) string
	odd   oddParts

	// refuse returns the message of a refusal for a body, or "". Nil refuses nothing.
	refuse func(body []byte) string

	mu       sync.Mutex
	queue    []string
	refusals []string
}

// RoundTrip implements [http.RoundTripper], so the server needs no network.
func (s *strict) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r) // a request for metadata
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	checked := httptest.NewRecorder()
	s.check().ServeHTTP(checked, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if checked.Code != http.StatusOK {
		s.refusals = append(s.refusals, fmt.Sprintf("%s\n%s", checked.Body, body[max(0, len(body)-1000):]))
		w.WriteHeader(checked.Code)
		_, _ = w.Write(checked.Body.Bytes())
		return
	}
	if s.refuse != nil {
		if message := s.refuse(body); message != "" {
			s.refusals = append(s.refusals, message)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","code":400,"status":"INVALID_ARGUMENT","message":%s}}`, quoted(message))
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	stream := s.form(oddReply{text: quoted("done")})
	if len(s.queue) > 0 {
		stream, s.queue = s.queue[0], s.queue[1:]
	}
	_, _ = io.WriteString(w, stream)
}

func (s *strict) model() *client.Model {
	return client.New(client.Config{Endpoints: []client.Endpoint{{API: s.api, Provider: "custom", BaseURL: "http://model.test", Model: "gemini-3-pro", Keys: []string{"k"}}}, Transport: s})
}

// strictServers returns a strict server for each API, and for Mistral's chat API.
func strictServers() map[string]*strict {
	return map[string]*strict{
		"chat": {api: openai.API{}, check: func() http.Handler { return &chattest.Server{Next: func(http.ResponseWriter, []byte) {}} }, form: chatStream, odd: oddChat},
		"mistral": {api: openai.API{}, check: func() http.Handler {
			return &chattest.Server{Mistral: true, Next: func(http.ResponseWriter, []byte) {}}
		}, form: chatStream, odd: oddChat},
		"responses": {api: responses.API{}, check: func() http.Handler {
			return responsestest.New(responsestest.Reply{Items: []responsestest.Item{responsestest.Text("ok")}})
		}, form: responsesStream, odd: oddResponses},
		"messages": {api: anthropic.API{}, check: func() http.Handler {
			return &standin.Server{Next: standin.Script(standin.Reply{Blocks: []standin.Block{standin.Text("ok")}})}
		}, form: messagesStream, odd: oddMessages},
		"gemini": {api: gemini.API{}, check: func() http.Handler {
			return geminitest.New(geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("ok")}})
		}, form: geminiStream, odd: oddGemini},
	}
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// TestHostileReplies sends odd responses to a session. No strict server may refuse its history:
// neither the same server nor, after loading, a server of another API.
func TestHostileReplies(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	rapid.Check(t, func(rt *rapid.T) {
		servers := strictServers()
		from := servers[rapid.SampledFrom([]string{"chat", "responses", "messages", "gemini"}).Draw(rt, "API")]
		var streams []string
		for range rapid.IntRange(1, 5).Draw(rt, "responses") {
			streams = append(streams, rapid.SampledFrom(oddFrames).Draw(rt, "frames")(from.form(drawReply(rt, from.odd))))
		}
		var err error
		synctest.Test(t, func(t *testing.T) { err = playHostile(t, servers, from, streams) }) // waits before retries take no time
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// TestEachOddPart sends each odd part once, some of them in one response.
func TestEachOddPart(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, name := range []string{"chat", "responses", "messages", "gemini"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			odd := strictServers()[name].odd
			for i := range len(oddArgs) {
				of := func(all []string) string { return all[i%len(all)] }
				reply := oddReply{
					calls:   []oddCall{{0, `"a"`, `"look"`, of(oddArgs), of(oddPieces)}, {1, of(oddIDs), of(oddNames), `"{}"`, of(oddPieces)}},
					thought: of(odd.thoughts), text: of(oddTexts), noise: of(odd.noise), finish: of(odd.finishes),
				}
				quiet := oddReply{thought: reply.thought, text: `""`}
				servers := strictServers()
				from := servers[name]
				streams := []string{oddFrames[i%len(oddFrames)](from.form(reply)), from.form(quiet)}
				var err error
				synctest.Test(t, func(t *testing.T) { err = playHostile(t, servers, from, streams) })
				if err != nil {
					t.Errorf("%+v: %v", reply, err)
				}
			}
		})
	}
}

// drawReply draws a response of an API. Half of the parts are usual ones.
func drawReply(rt *rapid.T, odd oddParts) oddReply {
	draw := func(label string, usual string, all []string) string {
		if rapid.Bool().Draw(rt, label+" as usual") {
			return usual
		}
		return rapid.SampledFrom(all).Draw(rt, label)
	}
	call := rapid.Custom(func(t *rapid.T) oddCall {
		return oddCall{rapid.IntRange(0, 2).Draw(t, "index"), rapid.SampledFrom(oddIDs).Draw(t, "id"), rapid.SampledFrom(oddNames).Draw(t, "name"),
			rapid.SampledFrom(oddArgs).Draw(t, "args"), rapid.SampledFrom(oddPieces).Draw(t, "pieces")}
	})
	return oddReply{
		calls: rapid.SliceOfN(call, 0, 4).Draw(rt, "calls"), text: draw("text", `""`, oddTexts),
		thought: draw("thought", "", odd.thoughts), finish: draw("finish", "", odd.finishes), noise: draw("noise", "", odd.noise),
	}
}

// playHostile plays turns until all odd responses are sent, and then sends the history to all
// servers. It returns the refusals.
func playHostile(t *testing.T, servers map[string]*strict, from *strict, streams []string) error {
	t.Helper()
	from.queue = streams
	config := agent.Config{Model: from.model(), Store: openStore(t), Tools: scriptTools(t, nil), MaxIterations: 6}
	s := begin(t, config)
	for turns := 0; len(from.queue) > 0 || turns < 2; turns++ {
		if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); err != nil && (turns > len(streams) || !failedReply(err)) {
			return refusalsOf(servers, err)
		}
	}
	config.Head.ID = s.ID()
	for name, to := range servers {
		config.Model = to.model()
		loaded := load(t, config)
		if _, err := loaded.Turn(t.Context(), agent.Input{Text: "and now?"}, &recorder{}); err != nil {
			return fmt.Errorf("%s: %w", name, refusalsOf(servers, err))
		}
	}
	for name, s := range servers {
		if i := slices.IndexFunc(s.refusals, func(refusal string) bool { return !ofState(refusal) }); i >= 0 && name != "mistral" { // the client learns Mistral's rules from refusals
			return fmt.Errorf("%s refused: %s", name, s.refusals[i])
		}
	}
	return nil
}

// failedReply reports whether a response itself, and not a refusal of the request, ended a turn.
func failedReply(err error) bool {
	var failed *model.Error
	return errors.As(err, &failed) && failed.Kind != model.ErrRequest && failed.Kind != model.ErrState
}

// ofState reports whether a server refused state that it had sent itself. The client repeats
// such a request without the state.
func ofState(refusal string) bool {
	for _, words := range []string{"`signature`", "thinking.signature", "thought signature", "encrypted content", "Items are not persisted", "`data` in `redacted_thinking`"} {
		if strings.Contains(refusal, words) {
			return true
		}
	}
	return false
}

func refusalsOf(servers map[string]*strict, err error) error {
	all := []error{err}
	for name, s := range servers {
		if len(s.refusals) > 0 {
			all = append(all, fmt.Errorf("%s: %s", name, strings.Join(s.refusals, "\n")))
		}
	}
	return errors.Join(all...)
}
