// Package chattest is a strict stand-in for the Chat Completions API, for tests. It refuses
// invalid histories with the words of real servers, and plays scripted replies.
package chattest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Server is an [http.Handler] at any path ending in /chat/completions. Set the fields before
// the first request. It is safe for concurrent use.
type Server struct {
	// Mistral enforces the rules of Mistral's API: ids of nine letters and digits, a text as
	// content, and no text beside calls.
	Mistral bool
	// Text refuses null as content.
	Text bool
	// Next writes the reply to an accepted request.
	Next func(w http.ResponseWriter, body []byte)

	mu       sync.Mutex
	refusals []string
	accepted int
}

// Refusals returns the messages of the refusals so far.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.refusals...)
}

// Accepted returns the number of accepted requests.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// ServeHTTP checks a request and plays the next reply.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r) // a request for metadata
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client closed the connection
	}
	no := s.check(body)
	s.mu.Lock()
	if no == "" {
		s.accepted++
	} else {
		s.refusals = append(s.refusals, no)
	}
	s.mu.Unlock()
	if no != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": no, "type": "invalid_request_error"}}) // the client may have closed the connection
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s.Next(w, body)
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []call          `json:"tool_calls"`
	CallID  *string         `json:"tool_call_id"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

var (
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	ninePattern = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
)

// Odd returns the reason for which strict JSON parsers refuse a text, or "".
func Odd(text []byte) string {
	switch {
	case !jsontext.Value(text).IsValid():
		return "We could not parse the JSON body of your request. (invalid Unicode, an unpaired surrogate, or a name that occurs twice)"
	case model.EscapesNUL(text):
		return "\\u0000 cannot be converted to text."
	}
	return ""
}

// check returns the reason for refusing a request, or "".
func (s *Server) check(body []byte) string {
	if odd := Odd(body); odd != "" {
		return odd
	}
	var req struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err.Error()
	}
	if len(req.Messages) == 0 {
		return "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
	}
	used := map[string]bool{}
	var open []string
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Sprintf("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s (messages[%d])", open[0], i)
		}
		if no := s.checkContent(i, m); no != "" {
			return no
		}
		switch m.Role {
		case "system", "user":
		case "assistant":
			for n := range m.Calls {
				if no := s.checkCall(i, n, &m.Calls[n], used); no != "" {
					return no
				}
				open = append(open, m.Calls[n].ID)
			}
		case "tool":
			at := -1
			for n, id := range open {
				if m.CallID != nil && id == *m.CallID {
					at = n
				}
			}
			if at < 0 {
				return fmt.Sprintf("messages with role 'tool' must be a response to a preceding message with 'tool_calls'. (messages[%d].role)", i)
			}
			open = append(open[:at:at], open[at+1:]...)
		default:
			return fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'. (messages[%d].role)", m.Role, i)
		}
	}
	if len(open) > 0 {
		return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: " + open[0]
	}
	return ""
}

func (s *Server) checkContent(i int, m *message) string {
	var text string
	isText := json.Unmarshal(m.Content, &text) == nil && string(m.Content) != "null"
	empty := len(m.Content) == 0 || string(m.Content) == "null"
	switch {
	case empty && (s.Text || s.Mistral):
		return "Invalid 'content': 'content' field must be a string or an array of objects."
	case empty && (m.Role != "assistant" || len(m.Calls) == 0):
		return fmt.Sprintf("Invalid value for 'content': expected a string, got null. (messages.[%d].content)", i)
	case s.Mistral && m.Role == "assistant" && text != "" && len(m.Calls) > 0:
		return "Assistant message must have either content or tool_calls, but not both."
	case isText && text == "" && m.Role == "assistant" && len(m.Calls) == 0:
		return "Assistant message must have either content or tool_calls, but not none."
	}
	return ""
}

func (s *Server) checkCall(i, n int, c *call, used map[string]bool) string {
	at := fmt.Sprintf("messages[%d].tool_calls[%d]", i, n)
	switch {
	case c.ID == "":
		return fmt.Sprintf("Invalid '%s.id': empty string. Expected a string with minimum length 1, but got an empty string instead.", at)
	case len(c.ID) > 40:
		return fmt.Sprintf("Invalid '%s.id': string too long. Expected a string with maximum length 40, but got a string with length %d instead.", at, len(c.ID))
	case s.Mistral && !ninePattern.MatchString(c.ID):
		return fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", c.ID)
	case !namePattern.MatchString(c.ID):
		return fmt.Sprintf("Invalid '%s.id': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	case used[c.ID]:
		return fmt.Sprintf("Duplicate value for 'tool_call_id' of '%s' in %s", c.ID, at)
	case c.Type != "function":
		return fmt.Sprintf("Invalid value: '%s'. Supported values are: 'function'. (%s.type)", c.Type, at)
	case !namePattern.MatchString(c.Function.Name):
		return fmt.Sprintf("Invalid '%s.function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	case len(c.Function.Name) > 64:
		return fmt.Sprintf("Invalid '%s.function.name': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", at, len(c.Function.Name))
	case c.Function.Arguments == nil:
		return fmt.Sprintf("Missing required parameter: '%s.function.arguments'.", at)
	}
	used[c.ID] = true
	args := strings.TrimSpace(*c.Function.Arguments)
	if !strings.HasPrefix(args, "{") || Odd([]byte(args)) != "" {
		return fmt.Sprintf("Invalid '%s.function.arguments': the tool call arguments must be a valid JSON object. %s", at, Odd([]byte(args)))
	}
	return ""
}
