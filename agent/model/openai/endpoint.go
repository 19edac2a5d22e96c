package openai

import (
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// endpoint is a configured endpoint with the facts that were learned about it.
type endpoint struct {
	Endpoint
	url     string // BaseURL without secrets, for messages
	learned *learned
}

// learned has the facts that later requests use, too.
type learned struct {
	sync.Mutex
	key    int                  // index of the key that is tried first
	quirks quirks               // parameters that the endpoint rejects
	models map[string]*metadata // the endpoint's metadata, by model; nil: not requested yet
	native map[string]bool      // models that have made native calls
	blind  map[string]time.Time // models whose pictures the endpoint rejected, and when
}

func newEndpoint(e Endpoint) *endpoint {
	if e.BaseURL == "" {
		e.BaseURL = baseURLs[e.Provider]
	}
	var keys []string
	for _, k := range e.Keys {
		if k = strings.TrimSpace(k); k != "" {
			keys = append(keys, k)
		}
	}
	e.Keys = keys
	return &endpoint{Endpoint: e, url: displayURL(e.BaseURL), learned: new(learned)}
}

// serving returns the same endpoint with another model.
func (e *endpoint) serving(id string) *endpoint {
	other := *e
	other.Model, other.Window = id, 0
	return &other
}

// name describes the endpoint for the log.
func (e *endpoint) name() string { return e.Model + " at " + e.url }

// fail returns an error of this endpoint. Its message is redacted.
func (e *endpoint) fail(kind model.ErrorKind, status int, message string, cause error) *model.Error {
	return &model.Error{Kind: kind, Endpoint: e.url, Model: e.Model, Status: status, Message: e.redact(message), Err: cause}
}

// refused returns the error of a response that is not a model response: an HTTP error, or
// an error within a stream. In a stream, status is 0.
func (e *endpoint) refused(status int, header http.Header, body []byte) *model.Error {
	err := api.Classify(status, header, body)
	err.Endpoint, err.Model, err.Message = e.url, e.Model, e.redact(err.Message)
	return err
}

// needsKey reports whether the provider requires a key. A server on this machine does not.
func (e *endpoint) needsKey() bool {
	if e.Provider != "openai" && e.Provider != "openrouter" {
		return false
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return true
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// pool returns the keys. The key that worked last is the first. If no key is configured,
// it returns one empty key.
func (e *endpoint) pool() []string {
	if len(e.Keys) == 0 {
		return []string{""}
	}
	e.learned.Lock()
	defer e.learned.Unlock()
	return append(append([]string(nil), e.Keys[e.learned.key:]...), e.Keys[:e.learned.key]...)
}

// prefer makes key the first one that later requests try.
func (e *endpoint) prefer(key string) {
	e.learned.Lock()
	defer e.learned.Unlock()
	for i, k := range e.Keys {
		if k == key {
			e.learned.key = i
		}
	}
}

// known returns the quirks that were learned.
func (e *endpoint) known() quirks {
	e.learned.Lock()
	defer e.learned.Unlock()
	return e.learned.quirks
}

// learn stores quirks for later requests.
func (e *endpoint) learn(q quirks) {
	e.learned.Lock()
	defer e.learned.Unlock()
	e.learned.quirks = q
}

// looksLikeKey matches keys, including keys that a vendor has masked in its message.
var looksLikeKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk|pk|rk|gsk|xai|key|hf|AIza)[-_][A-Za-z0-9_*.…-]{6,}|(?i:bearer)\s+[^\s"']{6,}`)
})

// redact replaces the keys of this endpoint, its password, and text that looks like a key.
func (e *endpoint) redact(text string) string {
	for _, k := range e.Keys {
		if len(k) >= 8 { // shorter ones are placeholders, such as "none"
			text = strings.ReplaceAll(text, k, "[key]")
		}
	}
	if u, err := url.Parse(e.BaseURL); err == nil && u.User != nil {
		if p, ok := u.User.Password(); ok && p != "" {
			text = strings.ReplaceAll(text, p, "[password]")
		}
	}
	return looksLikeKey().ReplaceAllString(text, "[key]")
}
