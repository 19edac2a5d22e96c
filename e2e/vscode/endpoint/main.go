// Command endpoint serves recorded responses as a model over HTTP, in the format of OpenAI's chat
// completions. Its files contain the responses, one per line: a list of texts and tool calls, as in
// cmd/hermes-ls/demo/responses. It writes its address to stdout and ends when its stdin does.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "endpoint:", err)
		os.Exit(1)
	}
}

func run(files []string) error {
	var responses []func(*fakemodel.Exchange)
	for _, name := range files {
		read, err := responsesOf(name)
		if err != nil {
			return err
		}
		responses = append(responses, read...)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Printf("http://%s/v1\n", listener.Addr())
	server := &http.Server{Handler: endpoint{fakemodel.Script(responses...)}, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// responsesOf reads a file of responses.
func responsesOf(name string) ([]func(*fakemodel.Exchange), error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the responses: %w", err)
	}
	defer file.Close()
	var responses []func(*fakemodel.Exchange)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var steps []struct {
			Text string
			Call *struct {
				Name string
				Args json.RawMessage
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &steps); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		responses = append(responses, func(x *fakemodel.Exchange) {
			for i, s := range steps {
				if s.Call == nil {
					x.Text(s.Text)
					continue
				}
				x.Call(fmt.Sprintf("call-%d-%d", time.Now().UnixNano(), i), s.Call.Name, string(s.Call.Args))
			}
			x.Usage(model.Usage{Input: 5000, Output: 80})
		})
	}
	return responses, nil
}

// endpoint streams the responses of a model.
type endpoint struct{ model *fakemodel.Model }

func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(chunk map[string]any) {
		body, err := json.Marshal(chunk)
		if err == nil {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", body) // a client that has gone needs nothing more
		}
	}
	for delta, err := range e.model.Stream(r.Context(), &model.Request{}) {
		if err != nil {
			send(map[string]any{"error": map[string]any{"message": err.Error()}})
			return
		}
		send(chunkOf(delta))
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// chunkOf returns a delta as a chunk of a chat completion.
func chunkOf(d model.Delta) map[string]any {
	delta := map[string]any{}
	if d.Text != "" {
		delta["content"] = d.Text
	}
	if d.Call != nil {
		delta["tool_calls"] = []any{map[string]any{
			"index": d.Call.Index, "id": d.Call.ID, "type": "function",
			"function": map[string]any{"name": d.Call.Name, "arguments": d.Call.Args},
		}}
	}
	choice := map[string]any{"index": 0, "delta": delta}
	if d.Finish != "" {
		choice["finish_reason"] = d.Finish
	}
	chunk := map[string]any{"object": "chat.completion.chunk", "choices": []any{choice}}
	if d.Usage != nil {
		chunk["usage"] = map[string]any{"prompt_tokens": d.Usage.Input, "completion_tokens": d.Usage.Output}
	}
	return chunk
}
