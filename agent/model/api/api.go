// Package api defines the common interface of the model APIs: an [API] encodes requests and
// decodes the events of responses. It sends nothing. Transport, retries, keys, and fallbacks
// belong to agent/model/client.
package api

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Names of the APIs, as used in providers.NAME.api.
const (
	Chat      = "chat"
	Responses = "responses"
	Messages  = "messages"
	Gemini    = "gemini"
)

// API is a model API. It is stateless and safe for concurrent use.
type API interface {
	// Name returns the name of the API.
	Name() string
	// Encode returns the request to a target. Equal messages always result in equal bytes. If
	// the messages of a request extend the previous messages, its body extends the previous
	// body, apart from cache marks.
	Encode(req *model.Request, t *Target) (*Request, error)
	// Decoder returns the decoder of a response. It calls emit for each delta, in order. The
	// last delta contains the finish, the usage, and the model. If emit returns false, the
	// caller stopped reading.
	Decoder(req *model.Request, t *Target, emit func(model.Delta) bool) Decoder
	// Classify returns the error of a response with an unsuccessful HTTP status, or of an error
	// event, where status is 0. The caller adds endpoint and model, and redacts the message.
	// [Classify] knows the common forms.
	Classify(status int, header http.Header, body []byte) *model.Error
	// Adapt changes t.Quirks to make a rejected request acceptable, for example without a
	// parameter. If nothing changes, it returns false. The request is repeated at once.
	Adapt(req *model.Request, t *Target, failed *model.Error) bool
}

// Locator is an [API] that can find the message named in a refusal.
type Locator interface {
	API
	// Locate returns the index in req.Messages of the message named in a refusal. If the
	// refusal names none, it returns -1.
	Locate(req *model.Request, t *Target, failed *model.Error) int
}

// Decoder decodes a response. An error other than a [*model.Error] means the response was not
// understood. Unknown events are skipped.
type Decoder interface {
	// Event takes the next server-sent event. name is empty for an event without a name. data
	// is valid until Event returns. An error event goes to [API.Classify] instead.
	Event(name string, data []byte) error
	// Finished reports whether the finish is known and only the usage may follow. The client
	// waits only a few seconds for the rest of the stream.
	Finished() bool
	// End emits the last delta. done reports whether the stream contained "[DONE]". If the
	// response is not complete, it returns an error of kind [model.ErrCut].
	//
	// If the API paused the response, the finish is [model.FinishPause]. The request is then
	// sent again with the parts of this response.
	End(done bool) error
}

// Request is an encoded request.
type Request struct {
	Method string
	URL    string
	Header http.Header // with the key; the caller adds the configured headers
	Body   Pieces
	Limit  int // token limit of the response in the body; 0: none
}

// Target is the endpoint of a request, and the options for sending it.
type Target struct {
	Provider string // the provider's name
	BaseURL  string
	Host     string // the origin of state
	API      string // the origin of state
	Model    string // the id to send
	Key      string // may be empty

	Efforts     []string // the model's levels of effort; nil: not known
	MaxTokens   int      // limit of a response; 0: the model's own
	Cache       Cache
	ServiceTier string // sent unchanged; empty: not sent
	Extra       []Field

	// Images holds the form of the images of a message, by index in Request.Messages.
	Images map[int]model.PictureForm
	// TextCalls is model.text_calls: whether calls written as text run. Only chat uses it.
	TextCalls string
	// Local means the endpoint is a model server on this machine or its network.
	Local bool
	// OpensThought means the server's template opens a thought in the prompt.
	OpensThought bool
	// TextTools writes tools, calls and results as text, because the server drops the tools of
	// a request. Only chat supports it.
	TextTools bool
	// NoState omits the state of all messages, because the endpoint refused it.
	NoState bool
	// Quirks are parameters rejected by the endpoint for the model. Each API uses its own bits.
	Quirks Quirks
	// Encoded keeps encoded messages for later requests. Nil keeps nothing.
	Encoded *Cached
}

// Quirks is a set of facts about an endpoint, as bits.
type Quirks uint32

// Cache configures the caching of prefixes.
type Cache struct {
	Off  bool // no marks and no key
	Long bool // for hours instead of minutes
}

// State returns the state of a part for this target. For state of another origin, it returns
// nil.
func (t *Target) State(p *model.Part) []byte {
	if p.State == nil || t.NoState || p.State.API != t.API || p.State.Host != t.Host {
		return nil
	}
	return p.State.Data
}

// NewState returns state of this target. If a strict server would refuse the data, NewState
// returns nil.
func (t *Target) NewState(data []byte) *model.State {
	if !jsontext.Value(data).IsValid() || model.EscapesNUL(data) {
		return nil
	}
	return &model.State{API: t.API, Host: t.Host, Data: data}
}

// Limit returns the limit of the response to a request in tokens. 0 means the model's own.
func (t *Target) Limit(req *model.Request) int {
	if req.MaxTokens > 0 && t.MaxTokens > 0 {
		return min(req.MaxTokens, t.MaxTokens)
	}
	return max(req.MaxTokens, t.MaxTokens)
}

// URL returns the address of a path, such as "/messages". version, such as "/v1", is added if
// the base URL has no path. If after is true, it is added to each base URL not ending with it.
func (t *Target) URL(version, path string, after bool) string {
	base := strings.TrimRight(t.BaseURL, "/")
	u, err := url.Parse(base)
	if err == nil && !strings.HasSuffix(base, version) && (after || u.Path == "") {
		base += version
	}
	return base + path
}

// levels are the levels of effort in their order.
var levels = [...]string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Effort returns the level of effort to send. A level unknown to the model becomes the next
// lower level, or the lowest. "" means the endpoint's default.
func (t *Target) Effort(req *model.Request) string {
	effort := req.Effort
	at := slices.Index(levels[:], effort)
	if effort == "default" || effort == "" {
		return ""
	}
	if at < 0 || len(t.Efforts) == 0 || slices.Contains(t.Efforts, effort) {
		return effort
	}
	for _, lower := range slices.Backward(levels[:at]) {
		if slices.Contains(t.Efforts, lower) && lower != "none" {
			return lower
		}
	}
	for _, higher := range levels[1:] {
		if slices.Contains(t.Efforts, higher) {
			return higher
		}
	}
	return ""
}

// Library is an [API] that sends its requests through a library.
type Library interface {
	API
	// Open sends the encoded request with do and returns its events. do replaces header and
	// body of the library's request. The body of its response contains a line "data: {…}" for
	// each event, and no empty lines.
	Open(ctx context.Context, t *Target, do Doer) (Source, error)
}

// Doer sends an HTTP request.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Source returns the events of a response.
type Source interface {
	Next() (name string, data []byte, err error)
	Close() error
}

// Filter is an [API] with a filter for the deltas of its decoder.
type Filter interface {
	API
	Filter(req *model.Request, t *Target, in iter.Seq2[model.Delta, error]) iter.Seq2[model.Delta, error]
}
