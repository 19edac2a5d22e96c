// Package responsestest is a stand-in for OpenAI's Responses API, for tests. It rejects the
// same requests as the API, and plays scripted responses.
//
//	s := responsestest.New(responsestest.Reply{Items: []responsestest.Item{
//		responsestest.Reasoning("The file first."), responsestest.Call("read_file", `{"path":"a"}`)}})
//	server := httptest.NewServer(s)
//
// A [Server] is safe for concurrent use. It stores its items, to compare them with the items in
// later requests.
package responsestest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Server is an [http.Handler] at any path ending in /responses. Set the fields before the first
// request.
type Server struct {
	Keys       []string // accepted in Authorization or api-key; empty: all
	Levels     []string // the efforts of the model; empty: a model without reasoning
	Window     int      // tokens of a request, about 4 bytes each; 0: no limit
	Unverified bool     // summaries of reasoning are rejected

	mu       sync.Mutex
	replies  []Reply
	requests []Request
	sent     map[string]sentItem // by id
	number   int
}

// Request is an accepted or rejected request.
type Request struct {
	Header http.Header
	Body   []byte
	Error  string // the message of the rejection; empty: accepted
	Cached int    // tokens of the prefix shared with an earlier request

	prompt string // as the model gets it: tools, instructions and input
}

// Reply is a scripted response.
type Reply struct {
	Items      []Item
	Incomplete string // why it is incomplete: max_output_tokens or content_filter
	Failed     *Error // the stream ends with response.failed
	Event      *Error // the stream ends with an error event
	Status     int    // an HTTP error with Failed instead of a stream
	Header     http.Header
	Cut        bool // the connection ends before the last event
}

// Error is the error of a [Reply].
type Error struct {
	Code    string
	Message string
}

// sentItem is an output item in its sent form.
type sentItem struct {
	raw   []byte // without its status
	key   string // the account
	after string // the reasoning item before it
}

// levels are the efforts of current reasoning models.
var levels = []string{"minimal", "low", "medium", "high"}

// New returns a server that plays replies in their order.
func New(replies ...Reply) *Server {
	return &Server{Levels: levels, replies: replies, sent: map[string]sentItem{}}
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// refusal is an HTTP error in the form of the API.
type refusal struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func invalid(param, format string, args ...any) *refusal {
	r := &refusal{status: http.StatusBadRequest, Type: "invalid_request_error", Message: fmt.Sprintf(format, args...)}
	if param != "" {
		r.Param = &param
	}
	return r
}

func (r *refusal) coded(code string) *refusal {
	r.Code = &code
	return r
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
	req := Request{Header: r.Header.Clone(), Body: body}
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if key == "" {
		key = r.Header.Get("api-key")
	}
	parsed, no := s.accept(r, key, body)
	if no != nil {
		req.Error = no.Message
		s.requests = append(s.requests, req)
		no.write(w)
		return
	}
	req.prompt = parsed.prompt()
	req.Cached = s.cached(req.prompt)
	s.requests = append(s.requests, req)
	if len(s.replies) == 0 {
		invalid("", "no reply is scripted for request %d", len(s.requests)).write(w)
		return
	}
	reply := s.replies[0]
	s.replies = s.replies[1:]
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	if reply.Status != 0 {
		(&refusal{status: reply.Status, Type: "error", Message: reply.Failed.Message, Code: &reply.Failed.Code}).write(w)
		return
	}
	s.play(w, parsed, key, req, reply)
}

func (r *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": r}) // the client may have closed the connection
}

// cached returns the tokens of the longest prefix shared with an earlier accepted request, in
// steps of 128 tokens from 1,024 on.
func (s *Server) cached(prompt string) int {
	best := 0
	for _, before := range s.requests {
		if before.Error != "" {
			continue
		}
		n := 0
		for n < len(prompt) && n < len(before.prompt) && prompt[n] == before.prompt[n] {
			n++
		}
		best = max(best, n/4)
	}
	if best < 1024 {
		return 0
	}
	return best / 128 * 128
}
