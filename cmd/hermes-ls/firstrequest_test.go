package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// Limits of the first request with all default tools and bundled skills, by the contract.
const (
	firstRequestBytes  = 24_000
	firstRequestTokens = 5_500
)

// TestFirstRequest measures the body of the first request. The second request must repeat its
// system prompt and tools.
func TestFirstRequest(t *testing.T) {
	t.Parallel()
	bodies := make(chan []byte, 8)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- body
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(endpoint.Close)
	p := newProgram(t)
	p.write("home/config.yaml", "model: {default: gpt-5, provider: custom, base_url: '"+endpoint.URL+"/v1', api_key: x, context_window: 200000}\n"+
		"web: {search: {backend: searxng, url: 'http://127.0.0.1:1'}}\n")
	c := p.acp()
	c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{
		"elicitation": map[string]any{"form": map[string]any{}}, "_meta": map[string]any{"hermes": map[string]any{"lsp": true}},
	}})
	c.prompt(c.open(p.cwd), "Hello.") // session_search is offered if there is an earlier session
	<-bodies
	id := c.open(p.cwd)
	c.prompt(id, "Hello.")
	first := <-bodies
	c.prompt(id, "Hello again.")
	second := <-bodies
	c.end()

	count, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := count.Count(string(first))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d tokens", len(first), tokens)
	if len(first) > firstRequestBytes || tokens > firstRequestTokens {
		t.Errorf("the first request has %d bytes and %d tokens, the limits are %d and %d", len(first), tokens, firstRequestBytes, firstRequestTokens)
	}
	names := toolNames(t, first)
	for _, want := range []string{
		"read_file", "write_file", "patch", "search_files", "terminal", "process", "execute_code", "delegate_task",
		"todo", "clarify", "web_search", "web_extract", "session_search", "checkpoint", "present_plan", "memory", "skill_view", "skill_manage",
		"lsp", "vision_analyze",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in the request", want)
		}
	}
	checkSentences(t, first)
	if end := bytes.LastIndex(first, []byte("]")); !bytes.HasPrefix(second, first[:end]) {
		t.Errorf("the second request does not extend the first one:\n%s\n%s", first, second)
	}
}

// sentenceEnd ends a sentence, or an independent part of it.
var sentenceEnd = regexp.MustCompile(`[.:;!?]\s|\n`)

// checkSentences limits the words of a sentence in the texts for the model, for small models and
// readers with little English.
func checkSentences(t *testing.T, body []byte) {
	t.Helper()
	var r struct {
		Messages []struct{ Role, Content string }
		Tools    []struct {
			Function struct {
				Description string
				Parameters  struct {
					Properties map[string]struct{ Description string }
				}
			}
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	texts := []string{r.Messages[0].Content}
	for _, tool := range r.Tools {
		texts = append(texts, tool.Function.Description)
		for _, p := range tool.Function.Parameters.Properties {
			texts = append(texts, p.Description)
		}
	}
	for _, text := range texts {
		for _, sentence := range sentenceEnd.Split(text, -1) {
			if n := len(strings.Fields(sentence)); n > 25 {
				t.Errorf("a sentence has %d words, at most 25 are plain: %q", n, sentence)
			}
		}
	}
}

func toolNames(t *testing.T, body []byte) (names []string) {
	t.Helper()
	var r struct {
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	for _, tool := range r.Tools {
		names = append(names, tool.Function.Name)
	}
	return names
}
