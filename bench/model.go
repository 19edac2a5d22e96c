package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// scriptedModel answers chat completions with queued replies.
type scriptedModel struct {
	url    string
	server *http.Server

	mu       sync.Mutex
	replies  []reply
	requests []request
	apart    bool          // see parts
	pause    time.Duration // see parts
}

// parts makes the model answer subagents without queued replies, after pause: the first request
// with a call, the second with a text. Other requests get the queued replies.
func (m *scriptedModel) parts(on bool, pause time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.apart, m.pause = on, pause
}

// reply is a streamed response: text deltas, or calls.
type reply struct {
	deltas []string
	alone  bool // each delta is sent separately
	calls  []call
	think  time.Duration // before it answers
}

type call struct{ name, args string }

// request records a request to the model.
type request struct {
	arrived, answered time.Time
	bytes             int
}

func startModel() (*scriptedModel, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the scripted model: %w", err)
	}
	m := &scriptedModel{url: "http://" + listener.Addr().String() + "/v1"}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	go func() { _ = m.server.Serve(listener) }()
	return m, nil
}

func (m *scriptedModel) queue(replies ...reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies = append(m.replies, replies...)
}

func (m *scriptedModel) seen() []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]request(nil), m.requests...)
}

func (m *scriptedModel) next(r request, body []byte) (reply, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.apart && bytes.Contains(body, []byte("You are a subagent")) {
		m.requests = append(m.requests, r)
		index := len(m.requests) - 1
		m.mu.Unlock()
		time.Sleep(m.pause)
		m.mu.Lock()
		if bytes.Contains(body, []byte(`"role":"tool"`)) {
			return reply{deltas: []string{"It has three lines."}}, index
		}
		return reply{calls: []call{{"read_file", `{"path":"a.txt"}`}}}, index
	}
	m.requests = append(m.requests, r)
	if len(m.replies) == 0 {
		return reply{deltas: []string{"ok"}}, len(m.requests) - 1
	}
	out := m.replies[0]
	m.replies = m.replies[1:]
	return out, len(m.requests) - 1
}

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") { // it asks for facts about the model
		http.NotFound(w, r)
		return
	}
	if len(body) == 0 { // it only opens the connection
		return
	}
	answer, index := m.next(request{arrived: arrived, bytes: len(body)}, body)
	time.Sleep(answer.think)
	w.Header().Set("Content-Type", "text/event-stream")
	var out strings.Builder
	for _, text := range answer.deltas {
		chunk(&out, map[string]any{"content": text}, "")
		if answer.alone {
			_, _ = io.WriteString(w, out.String())
			_ = http.NewResponseController(w).Flush()
			out.Reset()
		}
	}
	for i, c := range answer.calls {
		chunk(&out, map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": fmt.Sprintf("call_%d_%d", index, i), "type": "function",
			"function": map[string]any{"name": c.name, "arguments": c.args},
		}}}, "")
	}
	finish := "stop"
	if len(answer.calls) > 0 {
		finish = "tool_calls"
	}
	chunk(&out, map[string]any{}, finish)
	out.WriteString("data: [DONE]\n\n")
	m.mu.Lock()
	m.requests[index].answered = time.Now()
	m.mu.Unlock()
	_, _ = io.WriteString(w, out.String())
}

func chunk(out *strings.Builder, delta map[string]any, finish string) {
	choice := map[string]any{"index": 0, "delta": delta}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	data, _ := json.Marshal(map[string]any{
		"id": "x", "object": "chat.completion.chunk", "model": "scripted", "choices": []any{choice},
	})
	fmt.Fprintf(out, "data: %s\n\n", data)
}
