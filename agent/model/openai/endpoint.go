package openai

import (
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// endpoint is a configured endpoint with what was learned about it.
type endpoint struct {
	Endpoint
	url     string // BaseURL for people
	learned *learned
}

// learned outlives the request that taught it.
type learned struct {
	sync.Mutex
	key    int                  // index of the key that goes first
	quirks quirks               // parameters that the endpoint refuses
	models map[string]*metadata // what the endpoint says of itself, by model; nil: it was not asked
	native map[string]bool      // models that have made native calls
	blind  map[string]time.Time // models of which the endpoint rejected pictures, and when
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

// serving returns the endpoint with another model of the same place.
func (e *endpoint) serving(id string) *endpoint {
	other := *e
	other.Model, other.Window = id, 0
	return &other
}

// name is the endpoint for the log.
func (e *endpoint) name() string { return e.Model + " at " + e.url }

// fail makes an error of this endpoint's, without secrets.
func (e *endpoint) fail(kind model.ErrorKind, status int, message string, cause error) *model.Error {
	return &model.Error{Kind: kind, Endpoint: e.url, Model: e.Model, Status: status, Message: e.redact(message), Err: cause}
}

// needsKey tells whether the provider answers nobody without one.
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

// pool returns the keys, the one that last worked first; one empty key where none
// is configured.
func (e *endpoint) pool() []string {
	if len(e.Keys) == 0 {
		return []string{""}
	}
	e.learned.Lock()
	defer e.learned.Unlock()
	return append(append([]string(nil), e.Keys[e.learned.key:]...), e.Keys[:e.learned.key]...)
}

// prefer makes key the first one to try from now on.
func (e *endpoint) prefer(key string) {
	e.learned.Lock()
	defer e.learned.Unlock()
	for i, k := range e.Keys {
		if k == key {
			e.learned.key = i
		}
	}
}

// known returns the quirks learned so far.
func (e *endpoint) known() quirks {
	e.learned.Lock()
	defer e.learned.Unlock()
	return e.learned.quirks
}

// learn remembers quirks.
func (e *endpoint) learn(q quirks) {
	e.learned.Lock()
	defer e.learned.Unlock()
	e.learned.quirks = q
}

// looksLikeKey finds keys, also such as a vendor has masked in its message.
var looksLikeKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk|pk|rk|gsk|xai|key|hf|AIza)[-_][A-Za-z0-9_*.…-]{6,}|(?i:bearer)\s+[^\s"']{6,}`)
})

// redact replaces the keys of this endpoint, and texts that look like keys.
func (e *endpoint) redact(text string) string {
	for _, k := range e.Keys {
		if len(k) >= 8 { // shorter ones are place holders, such as "none"
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
