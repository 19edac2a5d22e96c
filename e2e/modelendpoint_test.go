//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// readsEndpoint is an endpoint of Chat Completions, and a web page. It plays responses and keeps
// requests.
type readsEndpoint struct {
	mu        sync.Mutex
	responses []string
	requests  []string
	goal      string // of a subagent
	subagent  string // the response to it
}

// answerSubagent sets the response to the subagent with a goal. Its requests are not kept.
func (e *readsEndpoint) answerSubagent(goal, response string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.goal, e.subagent = goal, response
}

// script adds responses, and returns the number of requests so far.
func (e *readsEndpoint) script(responses ...string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.responses = append(e.responses, responses...)
	return len(e.requests)
}

func (e *readsEndpoint) since(n int) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.requests[n:]...)
}

func (e *readsEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path == "/page" {
		fmt.Fprint(w, "<!doctype html><title>A page</title><article><h1>A page</h1><p>The page says hello. It has enough words to be an article, and says them in sentences.</p></article>")
		return
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") { // it asks for facts about the model
		http.NotFound(w, r)
		return
	}
	e.mu.Lock()
	if e.goal != "" && strings.Contains(string(body), e.goal) && !strings.Contains(string(body), "Count in the background") {
		fmt.Fprint(w, e.subagent, "data: [DONE]\n\n")
		e.mu.Unlock()
		return
	}
	e.requests = append(e.requests, string(body))
	response := sayText("Nothing is left in the script.")
	if len(e.responses) > 0 {
		response, e.responses = e.responses[0], e.responses[1:]
	}
	e.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, response, `data: {"choices":[],"usage":{"prompt_tokens":6000,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3000}}}`, "\n\ndata: [DONE]\n\n")
}

func sayText(text string) string {
	quoted, _ := json.Marshal(text)
	return delta(`{"content":`+string(quoted)+`}`) + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
}

func sayCalls(finish string, nameArgs ...string) string {
	var b strings.Builder
	for i := 0; i < len(nameArgs); i += 2 {
		args, _ := json.Marshal(nameArgs[i+1])
		b.WriteString(delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"","type":"function","function":{"name":%q,"arguments":%s}}]}`, i/2, nameArgs[i], args)))
	}
	return b.String() + fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, finish) + "\n\n"
}

type readsMessage struct {
	Role    string
	Content any
}

func messagesOf(request string) []readsMessage {
	var body struct{ Messages []readsMessage }
	_ = json.Unmarshal([]byte(request), &body) // without messages, the checks fail
	return body.Messages
}

// messageOf returns the first message of a role, lastOf the last.
func messageOf(request, role string) string {
	for _, m := range messagesOf(request) {
		if m.Role == role {
			return fmt.Sprint(m.Content)
		}
	}
	return ""
}

func lastOf(request, role string) (text string) {
	for _, m := range messagesOf(request) {
		if m.Role == role {
			text = fmt.Sprint(m.Content)
		}
	}
	return text
}

// resultsOf returns the results at the end of a request.
func resultsOf(request string) (results []string) {
	for _, m := range messagesOf(request) {
		switch {
		case m.Role == "assistant":
			results = nil
		case m.Role == "tool":
			results = append(results, fmt.Sprint(m.Content))
		}
	}
	return append(results, "", "", "", "", "", "", "")
}
