package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stream is a response in the format of an API: the parts before and after its text deltas.
type stream struct{ api, begin, delta, end string }

func event(name, data string) string {
	if name != "" {
		name = "event: " + name + "\n"
	}
	return name + "data: " + data + "\n\n"
}

// streams are responses. In the text of each delta, TEXT stands for a piece.
var streams = []stream{
	{
		"chat", "",
		event("", `{"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"TEXT"}}]}`),
		event("", `{"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) + event("", "[DONE]"),
	},
	{
		"messages",
		event("message_start", `{"type":"message_start","message":{"id":"x","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`) +
			event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}`),
		event("content_block_stop", `{"type":"content_block_stop","index":0}`) +
			event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`) +
			event("message_stop", `{"type":"message_stop"}`),
	},
	{
		"responses",
		event("response.created", `{"type":"response.created","response":{"id":"x","status":"in_progress"}}`) +
			event("response.output_item.added", `{"type":"response.output_item.added","output_index":0,"item":{"id":"i","type":"message","role":"assistant","content":[]}}`),
		event("response.output_text.delta", `{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"TEXT"}`),
		event("response.completed", `{"type":"response.completed","response":{"id":"x","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":9}}}`),
	},
	{
		"gemini", "",
		event("", `{"candidates":[{"content":{"role":"model","parts":[{"text":"TEXT"}]},"index":0}],"modelVersion":"m"}`),
		event("", `{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":9}}`),
	},
}

// apis measures the server's processor time for a delta and for a request in each API.
func apis(l *lab) ([]row, error) {
	const pieces, requests = 20_000, 100
	deltas, err := apiRows(l, "CPU per delta, ", "≤ 12 µs", pieces, 1)
	if err != nil {
		return nil, err
	}
	whole, err := apiRows(l, "CPU per request, ", "", 1, requests)
	return append(deltas, whole...), err
}

// apiRows returns a row for each API: the processor time per text delta of a response, or per
// request.
func apiRows(l *lab, what, goal string, pieces, requests int) ([]row, error) {
	var rows []row
	for _, s := range streams {
		text := s.reply(pieces)
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
		}))
		used, err := apiTime(l, s.api, endpoint.URL, requests, pieces*len(piece(0)))
		endpoint.Close()
		if err != nil {
			return nil, err
		}
		r := row{what: what + s.api, value: us(used) / float64(pieces*requests), unit: "µs", goal: goal}
		if requests > 1 {
			r.value, r.unit = r.value/1000, "ms"
		}
		if len(rows) > 0 {
			r.floor, r.floorName, r.goal = rows[0].value, "chat", strings.TrimPrefix(goal+", ≤ 1.5×", ", ")
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// reply returns a response of several deltas.
func (s stream) reply(pieces int) string {
	text := strings.Builder{}
	text.WriteString(s.begin)
	for i := range pieces {
		text.WriteString(strings.Replace(s.delta, "TEXT", piece(i), 1))
	}
	text.WriteString(s.end)
	return text.String()
}

// apiTime returns the least processor time of three groups of requests, each of which is a turn
// with a reply of a length in bytes.
func apiTime(l *lab, api, url string, requests, length int) (time.Duration, error) {
	home := filepath.Join(l.dir, "api-"+api)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return 0, err
	}
	text := fmt.Sprintf("model: {default: m, provider: custom, api: %s, api_key: k, base_url: %q, context_window: 1000000}\n", api, url)
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		return 0, err
	}
	c, err := open(l.bin, home, l.cwd)
	if err != nil {
		return 0, err
	}
	used := time.Hour
	for range 3 {
		before, err := cpu(c.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		for range requests {
			if err := c.promptFor(length); err != nil {
				return 0, err
			}
		}
		after, err := cpu(c.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		used = min(used, after-before)
	}
	_, err = c.close()
	return used, err
}
