// Package model defines the language model for the turn loop. The caller sends a request and
// gets deltas. No type depends on a vendor's protocol.
package model

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Model streams responses. Implementations are safe for concurrent use.
type Model interface {
	// Stream sends req and yields the deltas of the response, in order. An error is the last
	// element of the sequence. Without an error, exactly one Delta sets Finish. If the caller
	// stops reading, or ctx is canceled, the request ends. Stream retries a request only before
	// the first text.
	Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// Request is a model request. Within a session, messages are only appended, and System and
// Tools stay the same, so the provider's prompt cache applies.
type Request struct {
	Model     string // the model id sent to the endpoint; empty: the implementation's default
	System    string
	Messages  []Message
	Tools     []Tool
	NoCalls   bool   // tools are listed, but must not be called
	MaxTokens int    // 0: the endpoint's own limit
	Effort    string // "": the endpoint's own; none, minimal, low, medium, high, xhigh, max
	SessionID string // for providers whose cache needs a key; may be empty
	// Turn is the session's turn for this request. A fallback answers until it ends. Empty: the
	// request is no part of a turn.
	Turn       string
	Background bool // of a subagent: requests of turns of the user go first
	// Describe asks another model for the descriptions of the images of a message, by index in
	// Messages. If there is no other model, it returns nil. It may be nil.
	Describe func(ctx context.Context, message int) []Description
}

// Tool is an offered tool: its name, its description, and the JSON schema of its
// arguments.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Role identifies the author of a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// PictureForm is the form of a picture for a model.
type PictureForm string

const (
	AsPicture   PictureForm = "picture"
	AsText      PictureForm = "text"      // the name and the size of the picture
	AsDescribed PictureForm = "described" // also [Message.Described]
)

// PictureForms are the forms of pictures, as first accepted by an endpoint. Each later request
// must repeat them.
type PictureForms struct {
	To    string              // the endpoint and its model
	Model string              // only the model, for messages to the user
	Forms map[int]PictureForm // by index in Request.Messages
}

// As reports whether a picture was accepted in the form.
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

// Call is a tool call as the model wrote it. Args may not be valid JSON.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// Delta is a piece of a response.
type Delta struct {
	Text      string
	Reasoning string
	Call      *CallDelta
	// Begin starts a new part of this type, [TextType] or [ReasoningType]. Otherwise a piece
	// continues the newest part if it is of the same type and without State.
	Begin PartType
	// State completes the call if Call is set. Otherwise it completes the newest part.
	State  *State
	Usage  *Usage
	Finish Finish // only set on the last delta
	Model  string // on the last delta: the answering model, perhaps a fallback
	// Answered is PROVIDER/MODEL as configured, on the last delta.
	Answered string
	// Restart means the request is retried: earlier reasoning and calls are not part of the
	// response. There was no text before.
	Restart bool
	// WasThought means all text of the response so far was a thought. Its start is in the
	// prompt.
	WasThought bool
	// Fallback explains which model answers instead of the first, and why. It is set before the
	// first piece of the response, once in a turn.
	Fallback string
	// Refusal is the provider's explanation of a [FinishRefusal], on the last delta.
	Refusal string
	// Dropped is the origin of state refused by its endpoint. The request's state of this
	// origin must not be sent again. It is set before the first piece of a response.
	Dropped *Origin
	// Notice is shown to the user and not stored: "retrying in 2s (429)".
	Notice string
	// Lasting means Notice is about more than a step of the request.
	Lasting bool
	// Pictures is set before the first piece of a response if the request contained pictures
	// without a decided form.
	Pictures *PictureForms
}

// CallDelta is a piece of a tool call. Pieces with the same Index belong together. [Reply]
// merges them, and also accepts the deviations of some providers.
type CallDelta struct {
	Index int    // negative: not known
	ID    string // complete, in any of the pieces
	Name  string // complete, in any of the pieces
	Args  string // appended
}

// Finish is the reason for the end of a response.
type Finish string

const (
	FinishStop    Finish = "stop"
	FinishCalls   Finish = "tool_calls"
	FinishLength  Finish = "length"
	FinishRefusal Finish = "content_filter"
	// FinishPause means the API wants the request again with the parts received so far. Only
	// agent/model/client sees it.
	FinishPause Finish = "pause"
)

// Usage holds the token counts of a request. Input includes the cached tokens.
type Usage struct {
	Input       int     `json:"input"`
	Output      int     `json:"output"` // includes Reasoning
	Reasoning   int     `json:"reasoning,omitempty"`
	CachedRead  int     `json:"cachedRead,omitempty"`
	CachedWrite int     `json:"cachedWrite,omitempty"`
	Cost        float64 `json:"cost,omitempty"` // US dollars, if it is known
}

// Plus returns the sum of two counts.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Reasoning + v.Reasoning, u.CachedRead + v.CachedRead, u.CachedWrite + v.CachedWrite, u.Cost + v.Cost}
}

// Stopped is the error of a request that was not sent, because it could pass a limit of the user's.
type Stopped struct{ Reason string } // a sentence for the user

func (e *Stopped) Error() string { return e.Reason }

// Error is a failure of the endpoint. Its text describes the next step for the user. Traces
// hold it as JSON.
type Error struct {
	Kind       ErrorKind
	Endpoint   string        `json:",omitempty"` // base URL, without credentials
	Provider   string        `json:",omitempty"`
	Model      string        `json:",omitempty"`
	Status     int           `json:",omitempty"` // HTTP status; 0: none
	Message    string        `json:",omitempty"` // the endpoint's message, redacted
	Window     int           `json:",omitempty"` // the context window in tokens, named by the endpoint; 0: none
	RetryAfter time.Duration `json:",omitempty"` // the wait requested by the endpoint; 0: none
	Final      bool          `json:",omitempty"` // the endpoint asked for no retry
	EveryKey   bool          `json:",omitempty"` // all keys of a pool are limited
	FirstFree  time.Duration `json:",omitempty"` // if EveryKey is set: until a key is usable
	Keyless    bool          `json:",omitempty"` // the request contained no key
	Shown      int           `json:",omitempty"` // characters of text shown before the failure
	Others     []*Error      `json:",omitempty"` // of fallbacks, which failed, too
	Named      int           `json:",omitempty"` // the message named in a refusal, counted from 1; 0: none
	Unsure     bool          `json:",omitempty"` // of a refusal: a fault of the server may be the cause, and not the history
	AddressIn  string        `json:",omitempty"` // setting with the address of the endpoint; empty: model.base_url
	KeyIn      string        `json:",omitempty"` // setting or variable with the key; empty: not known
	Proxy      string        `json:",omitempty"` // address of the request's proxy; empty: none
	Err        error         `json:"-"`          // the cause, if any
}

// ErrorKind is the kind of a failure. Each kind leads to another next step.
type ErrorKind string

const (
	ErrNoKey    ErrorKind = "no key"          // no key is configured
	ErrAuth     ErrorKind = "key refused"     // 401, 403
	ErrCredit   ErrorKind = "out of credit"   // 402
	ErrBusy     ErrorKind = "busy"            // 429, 529, 503 after all retries
	ErrDown     ErrorKind = "unreachable"     // no connection
	ErrServer   ErrorKind = "server error"    // other 5xx
	ErrRequest  ErrorKind = "request refused" // other 4xx
	ErrStalled  ErrorKind = "stalled"         // no event within the idle limit
	ErrCut      ErrorKind = "cut off"         // stream ended without a finish
	ErrGarbage  ErrorKind = "not understood"  // the response is not a stream of deltas
	ErrEndless  ErrorKind = "does not end"    // the response exceeds a limit
	ErrOverflow ErrorKind = "context full"    // the request is larger than the context window
	ErrModel    ErrorKind = "no such model"   // the endpoint does not know the model
	ErrTools    ErrorKind = "no tools"        // the model or its server cannot call tools
	ErrPolicy   ErrorKind = "policy"          // the provider's policy forbids the request
	ErrState    ErrorKind = "state refused"   // the endpoint does not accept its earlier state
)
