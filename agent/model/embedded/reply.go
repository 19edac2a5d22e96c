package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// reply is what the model says and does in answer to one request.
type reply []step

// step is a part of a reply; one of its fields is set. It is also the vocabulary
// of a script.
type step struct {
	Text    string `json:"text,omitempty"`
	Thought string `json:"thought,omitempty"`
	Call    *call  `json:"call,omitempty"`
	SleepMS int    `json:"sleep_ms,omitempty"`
	Finish  string `json:"finish,omitempty"` // in place of stop or tool_calls
	Cut     bool   `json:"cut,omitempty"`    // the connection breaks here
	Status  int    `json:"status,omitempty"` // alone: the request is refused with this HTTP status
}

// call is a tool call. Args may be a string, which is then sent as it is.
type call struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func say(text string) reply { return reply{{Text: text}} }

// callTool makes a call of a tool with arguments that always marshal.
func callTool(name string, args map[string]any) step {
	data, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("arguments of %s: %v", name, err))
	}
	return step{Call: &call{name, data}}
}

// sender streams one reply.
type sender struct {
	w     http.ResponseWriter
	ctx   context.Context
	model string
	asked int // bytes of the request
	said  int // bytes of the reply
	call  int // numbers calls, so that no two of a session have the same id
	calls int
	gone  bool
}

func (s *sender) send(r reply) {
	if len(r) == 1 && r[0].Status != 0 {
		refuse(s.w, r[0].Status, fmt.Sprintf("the script says %d", r[0].Status))
		return
	}
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.event(choice{Delta: delta{Role: "assistant"}})
	finish := ""
	for _, step := range r {
		if s.step(step); s.gone {
			return
		}
		if step.Cut {
			panic(http.ErrAbortHandler) // the server's way to break a connection
		}
		if step.Finish != "" {
			finish = step.Finish
		}
	}
	switch {
	case finish != "":
	case s.calls > 0:
		finish = "tool_calls"
	default:
		finish = "stop"
	}
	s.event(choice{FinishReason: &finish})
	s.usage()
	s.write("data: [DONE]\n\n")
}

func (s *sender) step(p step) {
	for _, piece := range pieces(p.Thought) {
		s.event(choice{Delta: delta{Reasoning: piece}})
	}
	for _, piece := range pieces(p.Text) {
		s.event(choice{Delta: delta{Content: piece}})
	}
	if p.Call != nil {
		s.toolCall(p.Call)
	}
	if p.SleepMS > 0 {
		select {
		case <-time.After(time.Duration(p.SleepMS) * time.Millisecond):
		case <-s.ctx.Done():
			s.gone = true
		}
	}
}

// toolCall sends a call as models do: its name, then its arguments in pieces.
func (s *sender) toolCall(c *call) {
	args := string(c.Args)
	var raw string
	if json.Unmarshal(c.Args, &raw) == nil {
		args = raw
	}
	index := s.calls
	s.calls++
	id := fmt.Sprintf("call_%d_%d", s.call, index+1)
	s.event(choice{Delta: delta{ToolCalls: []callPart{{Index: index, ID: id, Type: "function", Function: function{Name: c.Name}}}}})
	const size = 200
	for len(args) > 0 {
		n := min(size, len(args))
		s.event(choice{Delta: delta{ToolCalls: []callPart{{Index: index, Function: function{Arguments: args[:n]}}}}})
		args = args[n:]
	}
}

// pieces cuts a text after each word.
func pieces(text string) []string {
	var out []string
	for len(text) > 0 {
		i := strings.IndexAny(text, " \n") + 1
		if i == 0 {
			i = len(text)
		}
		out = append(out, text[:i])
		text = text[i:]
	}
	return out
}

type chunk struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Role      string     `json:"role,omitempty"`
	Content   string     `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []callPart `json:"tool_calls,omitempty"`
}

type callPart struct {
	Index    int      `json:"index"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (s *sender) event(c choice) {
	s.said += len(c.Delta.Content) + len(c.Delta.Reasoning)
	for _, part := range c.Delta.ToolCalls {
		s.said += len(part.Function.Name) + len(part.Function.Arguments)
	}
	s.chunk([]choice{c}, nil)
}

// usage tells the tokens: four bytes count as one.
func (s *sender) usage() {
	in, out := (s.asked+3)/4, (s.said+3)/4
	s.chunk([]choice{}, &usage{in, out, in + out})
}

func (s *sender) chunk(choices []choice, u *usage) {
	data, err := json.Marshal(chunk{"embedded", "chat.completion.chunk", s.model, choices, u})
	if err != nil {
		panic(fmt.Sprintf("encoding a chunk: %v", err)) // strings and numbers only
	}
	s.write("data: " + string(data) + "\n\n")
}

func (s *sender) write(text string) {
	if s.gone || s.ctx.Err() != nil {
		s.gone = true
		return
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		s.gone = true
		return
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}
