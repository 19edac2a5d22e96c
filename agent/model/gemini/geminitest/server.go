// Package geminitest is a stand-in for the Gemini API, for tests. It rejects the same requests
// as the API, and plays scripted responses.
//
//	s := geminitest.New(geminitest.Reply{Parts: []geminitest.Part{
//		geminitest.Thought("The file first."), geminitest.Call("read_file", `{"path":"a"}`)}})
//	server := httptest.NewServer(s)
//
// A [Server] is safe for concurrent use. It stores its signatures, to check the signatures in
// later requests.
package geminitest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Server is an [http.Handler]. Set the fields before the first request.
type Server struct {
	Keys    []string // accepted in x-goog-api-key; empty: all
	Version float64  // of the model: from 3 on, calls require signatures. 0 means 3
	Levels  []string // of thinking; empty: the model does not think
	IDs     bool     // calls get ids
	Window  int      // tokens of a request, about 4 bytes each; 0: no limit

	mu         sync.Mutex
	replies    []Reply
	requests   []Request
	signatures map[string]signed
	paused     map[string][]content // by continuation token
	newest     []content
	number     int
}

// Request is an accepted or rejected request.
type Request struct {
	Header http.Header
	URL    string
	Body   []byte
	Error  string // the message of the rejection; empty: accepted
}

// Reply is a scripted response.
type Reply struct {
	Parts    []Part
	Finish   string // empty: STOP
	Message  string // of the finish
	Block    string // why the prompt is blocked
	Status   int    // an HTTP error with Error instead of a stream
	Error    string // the body of the error, or an event within the stream
	Cut      bool   // the connection ends before the last event
	Trailing bool   // the signature comes in an empty part at the end, as in a text stream
}

// Part is a part of a [Reply].
type Part struct {
	kind string
	text string // or arguments
	name string
}

// Thought returns a summary of thoughts.
func Thought(text string) Part { return Part{kind: "thought", text: text} }

// Text returns a text.
func Text(text string) Part { return Part{kind: "text", text: text} }

// Call returns a call. The first call of a reply gets a signature.
func Call(name, args string) Part { return Part{kind: "call", name: name, text: args} }

// Unknown returns a part of another type. raw is a JSON object.
func Unknown(raw string) Part { return Part{kind: "unknown", text: raw} }

// signed is a part with a signature.
type signed struct{ key, part string }

// New returns a server that plays replies in their order.
func New(replies ...Reply) *Server {
	return &Server{Levels: []string{"minimal", "low", "medium", "high"}, replies: replies, signatures: map[string]signed{}, paused: map[string][]content{}}
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// refusal is an HTTP error in the form of the API.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []any  `json:"details,omitempty"`
}

func invalid(format string, args ...any) *refusal {
	return &refusal{Code: http.StatusBadRequest, Message: fmt.Sprintf(format, args...), Status: "INVALID_ARGUMENT"}
}

// ServeHTTP checks a request and plays the next reply.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	req := Request{Header: r.Header.Clone(), URL: r.URL.String(), Body: body}
	no := s.accept(r, body)
	if no == nil && len(s.replies) == 0 {
		no = invalid("no reply is scripted for request %d", len(s.requests))
	}
	if no != nil {
		req.Error = no.Message
		s.requests = append(s.requests, req)
		data, err := json.Marshal(map[string]any{"error": no})
		if err != nil { // only values of this package
			panic(err)
		}
		write(w, no.Code, string(data))
		return
	}
	s.requests = append(s.requests, req)
	reply := s.replies[0]
	s.replies = s.replies[1:]
	if reply.Status != 0 {
		write(w, reply.Status, reply.Error)
		return
	}
	s.play(w, r.Header.Get("X-Goog-Api-Key"), len(body), reply)
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // the client may have closed the connection
}

// stream writes the events of a response.
type stream struct {
	w      http.ResponseWriter
	server *Server
	key    string
	input  int
	output int
	called bool
}

// play writes a reply as a stream.
func (s *Server) play(w http.ResponseWriter, key string, size int, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	p := &stream{w: w, server: s, key: key, input: size / 4}
	if reply.Block != "" {
		p.event(nil, map[string]any{"promptFeedback": map[string]any{"blockReason": reply.Block, "safetyRatings": []any{
			map[string]any{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true}}}})
		return
	}
	for i, part := range reply.Parts {
		p.part(part, i+1 == len(reply.Parts), reply.Trailing)
	}
	switch {
	case reply.Cut:
		return
	case reply.Error != "":
		fmt.Fprintf(w, "data: %s\r\n\r\n", reply.Error)
		return
	}
	finish := reply.Finish
	if finish == "" {
		finish = "STOP"
	}
	last := map[string]any{"finishReason": finish, "index": 0}
	if finish == "CONTINUATION" {
		s.number++
		token := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "token %d", s.number))
		s.paused[token] = s.newest
		last["continuationToken"] = token
	}
	if reply.Message != "" {
		last["finishMessage"] = reply.Message
	}
	part := map[string]any{"text": ""}
	if reply.Trailing {
		part["thoughtSignature"] = p.sign("text ")
	}
	last["content"] = map[string]any{"role": "model", "parts": []any{part}}
	p.event(last, map[string]any{"laterVersion": true})
}

// event writes an event with a candidate, the usage, and more members.
func (p *stream) event(candidate map[string]any, more map[string]any) {
	e := map[string]any{"responseId": "r-1", "modelVersion": "gemini-test-001", "usageMetadata": map[string]any{
		"promptTokenCount": p.input, "candidatesTokenCount": p.output, "thoughtsTokenCount": 7, "totalTokenCount": p.input + p.output + 7,
		"cachedContentTokenCount": p.input / 2, "promptTokensDetails": []any{map[string]any{"modality": "TEXT", "tokenCount": p.input}}}}
	if candidate != nil {
		e["candidates"] = []any{candidate}
	}
	for name, value := range more {
		e[name] = value
	}
	data, err := json.Marshal(e)
	if err != nil { // only values of this package
		panic(err)
	}
	fmt.Fprintf(p.w, "data: %s\r\n\r\n", data)
	if f, ok := p.w.(http.Flusher); ok {
		f.Flush()
	}
}

// content writes a part.
func (p *stream) content(part any) {
	p.output++
	p.event(map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": []any{part}}}, nil)
}

// part writes the events of a part.
func (p *stream) part(part Part, last, trailing bool) {
	switch part.kind {
	case "call":
		p.call(part)
	case "unknown":
		p.content(json.RawMessage(part.text))
	case "thought":
		for _, text := range split(part.text) {
			p.content(map[string]any{"text": text, "thought": true})
		}
	default:
		pieces := split(part.text)
		for i, text := range pieces {
			content := map[string]any{"text": text}
			if last && i+1 == len(pieces) && !trailing {
				content["thoughtSignature"] = p.sign("text " + text)
			}
			p.content(content)
		}
	}
}

func (p *stream) call(part Part) {
	call := map[string]any{"name": part.name}
	if part.text != "" {
		call["args"] = json.RawMessage(part.text)
	}
	if p.server.IDs {
		p.server.number++
		call["id"] = fmt.Sprintf("fc-%d", p.server.number)
	}
	content := map[string]any{"functionCall": call}
	if !p.called { // parallel calls share a signature
		content["thoughtSignature"] = p.sign("call " + part.name)
	}
	p.called = true
	p.content(content)
}

// sign returns a signature for a part.
func (p *stream) sign(part string) string {
	p.server.number++
	s := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "signature?>%d of the thought", p.server.number))
	p.server.signatures[s] = signed{p.key, part}
	return s
}

// split cuts text into pieces of characters.
func split(text string) (pieces []string) {
	for len(text) > 0 {
		n := min(len(text), 9)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// unknown returns a member of an object outside a list of names, or "".
func unknown(raw json.RawMessage, known string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return ""
	}
	for name := range members {
		if !slices.Contains(strings.Fields(known), name) {
			return name
		}
	}
	return ""
}
