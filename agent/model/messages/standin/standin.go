// Package standin is a strict stand-in for Anthropic's Messages API, for tests. It rejects the
// same requests as the API, with the same messages, and streams scripted replies. It signs
// thinking, checks returned signatures, and counts cached tokens by the marks and bytes of the
// requests.
package standin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Server is an [http.Handler] for POST /v1/messages, also below another path. Set its fields
// before the first request. It is safe for concurrent use.
type Server struct {
	// Key is the accepted x-api-key. Empty: any key.
	Key string
	// Next returns the reply to an accepted request. See [Script].
	Next func(*Request) Reply
	// Models are the existing ids. Empty: any id.
	Models []string
	// MinCached is the size of the smallest cached prefix, in tokens.
	MinCached int

	mu       sync.Mutex
	requests []*Request
	cached   map[hash]bool
	redacted map[string]hash // the prefixes of redacted blocks, by their data
	thoughts map[string]int  // number of thinking blocks in a call's reply, by call id
	secret   int             // of the signatures
	replies  int
}

type hash = [sha256.Size]byte

// Reply is a scripted reply.
type Reply struct {
	Blocks  []Block
	Stop    string // stop_reason; empty: tool_use after a call, otherwise end_turn
	Refusal string // stop_details.explanation
	Output  int    // output_tokens; 0: by the size of the blocks

	Status int         // of an error instead of the reply
	Error  string      // error type: for the whole response, or after the blocks if Status is 0
	Text   string      // its message
	Header http.Header // of the response
	Cut    int         // if not 0, the connection ends after this many events
	Events []string    // raw event lines, instead of all else
}

// Block is a block of a reply. Its fields are the API's.
type Block map[string]any

// Text returns a block of text.
func Text(text string) Block { return Block{"type": "text", "text": text} }

// Thinking returns a block of thinking. The server signs it.
func Thinking(text string) Block { return Block{"type": "thinking", "thinking": text} }

// Redacted returns a block of unreadable thinking.
func Redacted() Block { return Block{"type": "redacted_thinking"} }

// Call returns a call. input is a JSON object.
func Call(id, name, input string) Block {
	return Block{"type": "tool_use", "id": id, "name": name, "input": json.RawMessage(input)}
}

// Script returns the replies in their order. After the last reply, the server fails.
func Script(replies ...Reply) func(*Request) Reply {
	var mu sync.Mutex
	return func(*Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		if len(replies) == 0 {
			return Reply{Status: 500, Error: "api_error", Text: "the script has no reply left"}
		}
		next := replies[0]
		replies = replies[1:]
		return next
	}
}

// Requests returns the requests so far, including rejected requests.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Forget makes the server reject all thinking created so far.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret++
	clear(s.redacted)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client closed the connection
	}
	req := &Request{Header: r.Header, Body: body}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	if failed := s.check(r, req); failed != nil {
		req.Rejected = failed.Error()
		writeError(w, failed.status, failed.kind, failed.text)
		return
	}
	reply := s.Next(req)
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	switch {
	case reply.Status != 0:
		writeError(w, reply.Status, reply.Error, reply.Text)
	case reply.Events != nil:
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, line := range reply.Events {
			io.WriteString(w, line+"\n")
		}
	default:
		s.answer(w, req, &reply)
	}
}

// rejection is an error response.
type rejection struct {
	status     int
	kind, text string
}

func (r *rejection) Error() string { return fmt.Sprintf("%d %s: %s", r.status, r.kind, r.text) }

func reject(format string, args ...any) *rejection {
	return &rejection{400, "invalid_request_error", fmt.Sprintf(format, args...)}
}

func errorBody(kind, text string) []byte {
	return marshal(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}, "request_id": "req_1"})
}

func writeError(w http.ResponseWriter, status int, kind, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(errorBody(kind, text))
}

// marshal encodes a value whose encoding cannot fail.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// answer signs and sends a reply.
func (s *Server) answer(w http.ResponseWriter, req *Request, reply *Reply) {
	s.mu.Lock()
	s.replies++
	id := fmt.Sprintf("msg_%d", s.replies)
	usage := s.usage(req)
	blocks := s.sign(req, reply.Blocks)
	s.mu.Unlock()

	size, stop := 0, "end_turn"
	for _, b := range blocks {
		size += len(marshal(b))
		if b["type"] == "tool_use" {
			stop = "tool_use"
		}
	}
	stop = cmp.Or(reply.Stop, stop)
	output := cmp.Or(reply.Output, size/4+1)
	var details any
	if reply.Refusal != "" {
		details = map[string]any{"type": "refusal", "category": nil, "explanation": reply.Refusal}
	}
	message := map[string]any{"id": id, "type": "message", "role": "assistant", "model": req.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if !req.Stream {
		usage["output_tokens"] = output
		message["content"], message["stop_reason"], message["stop_details"] = blocks, stop, details
		w.Header().Set("Content-Type", "application/json")
		w.Write(marshal(message))
		return
	}
	e := &events{w: w, left: reply.Cut}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	e.send("message_start", map[string]any{"message": message})
	e.send("ping", map[string]any{})
	for i, b := range blocks {
		e.block(i, b, req.omitted())
	}
	if reply.Error != "" {
		e.write("error", errorBody(reply.Error, reply.Text))
		return
	}
	thinking := 0
	for _, b := range blocks {
		if text, ok := b["thinking"].(string); ok {
			thinking += len(text)/4 + 1
		}
	}
	e.send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil, "stop_details": details},
		"usage": map[string]any{"input_tokens": usage["input_tokens"], "cache_read_input_tokens": usage["cache_read_input_tokens"],
			"cache_creation_input_tokens": usage["cache_creation_input_tokens"], "output_tokens": output,
			"output_tokens_details": map[string]any{"thinking_tokens": min(thinking, output)}},
	})
	e.send("message_stop", map[string]any{})
}

// sign completes the blocks of a reply with signatures.
func (s *Server) sign(req *Request, blocks []Block) []Block {
	if s.redacted == nil {
		s.redacted, s.thoughts = map[string]hash{}, map[string]int{}
	}
	at, thoughts := req.end, 0
	var signed []Block
	for _, b := range blocks {
		made := Block{}
		for name, value := range b {
			made[name] = value
		}
		switch made["type"] {
		case "thinking":
			text, _ := made["thinking"].(string)
			if req.omitted() {
				text = ""
			}
			made["thinking"], made["signature"] = text, s.signature(text, at)
			thoughts++
		case "redacted_thinking":
			data := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "redacted %d %d", s.secret, len(s.redacted)))
			s.redacted[data], made["data"] = hash(at), data
			thoughts++
		case "tool_use":
			s.thoughts[made["id"].(string)] = thoughts
		}
		at = at.next("assistant", canonical(marshal(made)))
		signed = append(signed, made)
	}
	return signed
}

// signature returns the signature of a block of thinking after a prefix. Its first half depends
// on the text, its second half on the prefix.
func (s *Server) signature(text string, prefix prefix) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "secret %d %s", s.secret, text))
	return base64.StdEncoding.EncodeToString(append(sum[:12], prefix[:12]...))
}

// events sends the events of a reply.
type events struct {
	w    http.ResponseWriter
	left int // events until the connection ends; 0: no limit
}

func (e *events) send(name string, fields map[string]any) {
	fields["type"] = name
	e.write(name, marshal(fields))
}

func (e *events) write(name string, data []byte) {
	fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, data)
	e.w.(http.Flusher).Flush()
	if e.left--; e.left == 0 {
		panic(http.ErrAbortHandler)
	}
}

// block sends the events of a block, with its text in pieces.
func (e *events) block(index int, b Block, omitted bool) {
	first := Block{}
	for name, value := range b {
		first[name] = value
	}
	pieces := func(kind, field, text string) {
		for _, piece := range split(text) {
			e.send("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": kind, field: piece}})
		}
	}
	start := func() { e.send("content_block_start", map[string]any{"index": index, "content_block": first}) }
	switch b["type"] {
	case "text":
		first["text"] = ""
		start()
		pieces("text_delta", "text", b["text"].(string))
	case "thinking":
		first["thinking"], first["signature"] = "", ""
		start()
		if !omitted {
			pieces("thinking_delta", "thinking", b["thinking"].(string))
		}
		e.send("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": "signature_delta", "signature": b["signature"]}})
	case "tool_use", "server_tool_use":
		first["input"] = map[string]any{}
		start()
		raw, _ := b["input"].(json.RawMessage)
		input := string(raw)
		e.send("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": "input_json_delta", "partial_json": ""}})
		if strings.TrimSpace(input) != "{}" {
			pieces("input_json_delta", "partial_json", input)
		}
	default:
		start()
	}
	e.send("content_block_stop", map[string]any{"index": index})
}

// split cuts a text into pieces of a few characters.
func split(text string) (pieces []string) {
	runes := []rune(text)
	for len(runes) > 0 {
		n := min(len(runes), 11)
		pieces = append(pieces, string(runes[:n]))
		runes = runes[n:]
	}
	return pieces
}
