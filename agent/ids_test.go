package agent_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
)

// TestIDsOfGeminiStay checks the ids of a Gemini call and its result. They are equal, also
// after a compaction and after loading.
func TestIDsOfGeminiStay(t *testing.T) {
	t.Parallel()
	var last string
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		last = string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		if asked++; asked%2 == 1 && asked < 8 {
			_, _ = io.WriteString(w, geminiStream(oddReply{calls: []oddCall{{id: `"g` + strings.Repeat("x", asked) + `"`, name: `"clock"`, args: `"{}"`}}, text: quoted(strings.Repeat("word ", 50))}))
			return
		}
		_, _ = io.WriteString(w, geminiStream(oddReply{text: quoted("done")}))
	}))
	defer server.Close()
	config := agent.Config{Store: openStore(t), Tools: toolSet(t, quick("clock", true)), Window: 2000,
		Model: client.New(client.Config{Endpoints: []client.Endpoint{{API: gemini.API{}, Provider: "gemini", BaseURL: server.URL, Model: "gemini-3-pro", Keys: []string{"k"}}}})}
	s := begin(t, config)
	ids := func(kind string) string {
		var all []string
		for _, m := range regexp.MustCompile(`"`+kind+`":\{("id":"[a-z]+")?`).FindAllStringSubmatch(last, -1) {
			all = append(all, m[1])
		}
		return strings.Join(all, " ")
	}
	turn := func(s *agent.Session) string {
		t.Helper()
		if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); err != nil {
			t.Fatal(err)
		}
		calls, results := ids("functionCall"), ids("functionResponse")
		if calls != results || calls == "" || strings.Contains(" "+calls+" ", "  ") {
			t.Errorf("calls have %s, results %s", calls, results)
		}
		return calls
	}
	for range 4 {
		turn(s)
	}
	sink := &recorder{}
	if _, err := s.Compact(t.Context(), "", sink); err != nil || len(of[agent.Compaction](sink)) == 0 {
		t.Fatal(err, sink.events)
	}
	kept := turn(s)
	config.Head.ID = s.ID()
	if again := turn(load(t, config)); again != kept {
		t.Errorf("after loading %s, before %s", again, kept)
	}
}
