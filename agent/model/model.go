// Package model is the language model as the turn loop sees it: a request goes in,
// deltas come out, and nothing of any vendor's wire is visible.
package model

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Model streams replies. Implementations are safe for concurrent use.
type Model interface {
	// Stream sends req and yields what comes back, in order. An error ends the
	// sequence and is the last thing yielded. A sequence that ends without error
	// has yielded exactly one Delta with a Finish. Breaking off, or cancelling
	// ctx, ends the request. Retries happen inside, and only before the first
	// Delta has been yielded.
	Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// Request is one call of the model. Messages only ever grow within a session, and
// System and Tools stay as they are, so that a provider's prompt cache holds.
type Request struct {
	Model     string // the model id sent to the endpoint; empty: the implementation's default
	System    string
	Messages  []Message
	Tools     []Tool
	NoCalls   bool   // the model may not call tools; they are listed all the same
	MaxTokens int    // 0: the endpoint's own limit
	Effort    string // reasoning effort: "", "low", "medium", "high"
	SessionID string // for providers that route by cache key; may be empty
}

// Tool is a tool's offer: name, words, JSON schema of its arguments.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Role is who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// PictureForm is how a model gets a picture.
type PictureForm string

const (
	AsPicture PictureForm = "picture"
	AsText    PictureForm = "text" // the name and the size of the picture
)

// PictureForms says in which form an endpoint accepted pictures for the first time.
// Every later request has to repeat this form.
type PictureForms struct {
	To    string              // the endpoint and its model
	Model string              // the model alone, for the user
	Forms map[int]PictureForm // by index in Request.Messages
}

// As reports whether a picture got the form.
func (p *PictureForms) As(form PictureForm) bool {
	for _, f := range p.Forms {
		if f == form {
			return true
		}
	}
	return false
}

// Image is a picture in a prompt or in a tool result.
type Image struct {
	Name     string `json:"name,omitempty"` // path or file name; empty: the picture was pasted
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"` // base64
}

// Call is a tool call as the model wrote it; Args may be no valid JSON.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// Delta is a piece of a reply.
type Delta struct {
	Text      string
	Reasoning string
	Call      *CallDelta
	// Begin starts a new part of this type, [TextType] or [ReasoningType]. Without it, a
	// piece continues the newest part if that has its type and no State.
	Begin PartType
	// State belongs to the call if Call is set, else to the newest part, and completes it.
	State  *State
	Usage  *Usage
	Finish Finish // set on the last delta only
	Model  string // on the last delta: the model that answered, after fallbacks
	// Notice is said to the user, not kept in the log: "retrying in 2s (429)".
	Notice string
	// Pictures is set before the first piece of a reply if the request had pictures
	// whose form was not decided.
	Pictures *PictureForms
}

// CallDelta is a piece of a tool call; pieces of the same Index belong together.
// [Reply] merges them, also where a provider bends these rules.
type CallDelta struct {
	Index int    // negative: not said
	ID    string // whole, in whichever piece brings it
	Name  string // whole, in whichever piece brings it
	Args  string // appended
}

// Finish is why a reply ended.
type Finish string

const (
	FinishStop    Finish = "stop"
	FinishCalls   Finish = "tool_calls"
	FinishLength  Finish = "length"
	FinishRefusal Finish = "content_filter"
)

// Usage counts tokens of one request. Input includes the cached ones.
type Usage struct {
	Input       int     `json:"input"`
	Output      int     `json:"output"` // includes Reasoning
	Reasoning   int     `json:"reasoning,omitempty"`
	CachedRead  int     `json:"cachedRead,omitempty"`
	CachedWrite int     `json:"cachedWrite,omitempty"`
	Cost        float64 `json:"cost,omitempty"` // US dollars, where the provider says it
}

// Error is a failure of the endpoint, said so that a person knows what to do.
type Error struct {
	Kind       ErrorKind
	Endpoint   string // base URL, without credentials
	Model      string
	Status     int           // HTTP status; 0 when there was none
	Message    string        // what the endpoint said, stripped of secrets
	RetryAfter time.Duration // what the endpoint asked for; 0: nothing
	Err        error         // the cause, if any
}

// ErrorKind sorts failures by what to do about them.
type ErrorKind string

const (
	ErrNoKey    ErrorKind = "no key"          // nothing configured: set a key or choose a provider
	ErrAuth     ErrorKind = "key refused"     // 401, 403
	ErrCredit   ErrorKind = "out of credit"   // 402
	ErrBusy     ErrorKind = "busy"            // 429, 529, 503 after all retries
	ErrDown     ErrorKind = "unreachable"     // no connection
	ErrServer   ErrorKind = "server error"    // other 5xx
	ErrRequest  ErrorKind = "request refused" // other 4xx
	ErrStalled  ErrorKind = "stalled"         // no event within the idle limit
	ErrCut      ErrorKind = "cut off"         // stream ended without a finish
	ErrGarbage  ErrorKind = "not understood"  // what came was no stream of deltas
	ErrEndless  ErrorKind = "does not end"    // more came than a reply may hold
	ErrOverflow ErrorKind = "context full"    // the conversation is longer than the window
)
