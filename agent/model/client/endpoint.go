package client

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// Endpoint is a model on a server.
type Endpoint struct {
	API      api.API
	Provider string   // the provider's name
	BaseURL  string   // empty: the default URL of the provider
	Model    string   // the id to send
	Keys     []string // may be empty if the server requires none
	// Command prints the key. It is repeated after 401 and every 30 minutes. It may be nil.
	Command func(context.Context) (string, error)
	// Pool is the strategy for choosing a key: FillFirst, RoundRobin or LeastUsed; empty:
	// FillFirst.
	Pool string
	// Cooldown is how long a limited key ranks behind other keys, if the endpoint names no
	// time. 0 means 60 s.
	Cooldown time.Duration
	// MaxConcurrent limits the concurrent requests for each key. 0 means no limit.
	MaxConcurrent int

	AddressIn, KeyIn string // names of the settings for the address and the key, for errors

	Headers map[string]string // sent with each request
	Proxy   string            // empty: the environment's
	CAFile  string            // certificates in addition to the system's

	Window      int // context window in tokens; 0: from the metadata, else from Known
	MaxTokens   int // limit of a response; 0: the model's own
	Efforts     []string
	Cache       api.Cache
	ServiceTier string
	Extra       []api.Field
	Price       *Price // nil: from the metadata, else from Known
	Images      *bool  // whether the model accepts images; nil: from the metadata, else from Known
	Known       Facts

	// TextCalls controls whether tool calls written as text run, see [api.Target.TextCalls].
	TextCalls string
	// Transport sends the requests of this endpoint. If it is nil, Config.Transport does.
	Transport http.RoundTripper
}

// baseURLs are the default URLs of the providers.
var baseURLs = map[string]string{
	"openai":     "https://api.openai.com/v1",
	"openrouter": "https://openrouter.ai/api/v1",
	"ollama":     "http://localhost:11434/v1",
	"lmstudio":   "http://localhost:1234/v1",
}

// endpoint is a configured endpoint with the facts learned about it.
type endpoint struct {
	Endpoint
	url     string // BaseURL without secrets, for messages
	host    string
	broken  *model.Error // why the endpoint cannot be used
	learned *learned
	proxied func(*http.Request) (*url.URL, error) // the proxy of a request; nil: no proxy
}

// base splits a configured address into the base URL and a query. Many users copy the address
// of a request, so base removes the path of a request.
func base(address string) (without, query string) {
	without, query, _ = strings.Cut(strings.TrimSpace(address), "?")
	without, _, _ = strings.Cut(without, "#")
	for _, path := range []string{"/chat/completions", "/responses", "/messages", "/models"} {
		if rest, ok := strings.CutSuffix(strings.TrimRight(without, "/"), path); ok && strings.Contains(rest, "://") && !strings.HasSuffix(rest, ":/") {
			return rest, query
		}
	}
	return without, query
}

// proxyOf returns the address of the proxy of requests to the endpoint, or "".
func (e *endpoint) proxyOf() string {
	req, err := http.NewRequest(http.MethodPost, e.BaseURL, nil) // never sent
	if e.proxied == nil || err != nil {
		return ""
	}
	if proxy, err := e.proxied(req); err == nil && proxy != nil {
		return displayURL(proxy.String())
	}
	return ""
}

// learned holds facts for later requests.
type learned struct {
	sync.Mutex
	quirks    map[string]api.Quirks    // by model
	limits    map[string]int           // of responses in tokens, by model, if the endpoint refused larger limits
	bounds    map[string]int           // windows in tokens, by model, if the endpoint refused longer requests
	accepted  map[string]int           // tokens of the largest accepted request, by model
	encoded   map[encoding]*api.Cached // messages
	models    map[string]*metadata     // the endpoint's metadata, by model; nil: not requested yet
	blind     map[string]time.Time     // models whose pictures the endpoint rejected, and when
	stateless map[string]int           // refusals of the endpoint's own state since it last accepted some, by model
	printed   string                   // the output of Command
	at        time.Time                // when it did
}

// encoding is a way to encode messages.
type encoding struct {
	model     string
	quirks    api.Quirks
	noState   bool
	textTools bool
}

func newEndpoint(e Endpoint) *endpoint {
	if e.BaseURL == "" {
		e.BaseURL = baseURLs[e.Provider]
	}
	var query string
	e.BaseURL, query = base(e.BaseURL)
	var proxy func(*http.Request) (*url.URL, error)
	if t, ok := e.Transport.(*http.Transport); ok {
		proxy = t.Proxy
	}
	if e.Transport != nil {
		e.Transport = outgoing{e.Transport, query}
	}
	if e.Cooldown <= 0 {
		e.Cooldown = 60 * time.Second
	}
	var keys []string
	for _, k := range e.Keys {
		if k = strings.TrimSpace(k); k != "" && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	e.Keys = keys
	made := &endpoint{Endpoint: e, proxied: proxy, url: displayURL(e.BaseURL), learned: &learned{quirks: map[string]api.Quirks{}, encoded: map[encoding]*api.Cached{}}}
	if u, err := url.Parse(e.BaseURL); err == nil {
		made.host = u.Host
	}
	return made
}

// serving returns the same endpoint with another model.
func (e *endpoint) serving(id string) *endpoint {
	other := *e
	other.Model, other.Window, other.Price, other.Images, other.Efforts, other.Known = id, 0, nil, nil, nil, Facts{}
	return &other
}

// name identifies the endpoint in the log.
func (e *endpoint) name() string { return e.Model + " at " + e.url }

// id returns PROVIDER/MODEL.
func (e *endpoint) id() string {
	if e.Provider == "" {
		return e.Model
	}
	return e.Provider + "/" + e.Model
}

// origin returns the origin of the endpoint's state.
func (e *endpoint) origin() model.Origin { return model.Origin{API: e.API.Name(), Host: e.host} }

// mostStateless is how often in a row an endpoint may refuse its own state. Then it gets none any
// more: such servers refuse the state of each response, as proxies with thinking that is not signed.
const mostStateless = 3

// refusesState reports whether the endpoint refuses each state.
func (e *endpoint) refusesState() bool {
	e.learned.Lock()
	defer e.learned.Unlock()
	return e.learned.stateless[e.Model] >= mostStateless
}

// countState records whether the endpoint accepted its own state. accepted is false if it refused it.
func (e *endpoint) countState(accepted bool) {
	e.learned.Lock()
	defer e.learned.Unlock()
	switch {
	case accepted:
		delete(e.learned.stateless, e.Model)
	case e.learned.stateless == nil:
		e.learned.stateless = map[string]int{e.Model: 1}
	default:
		e.learned.stateless[e.Model]++
	}
}

// hasState reports whether a request contains state of the target.
func hasState(req *model.Request, t *api.Target) bool {
	for i := range req.Messages {
		for n := range req.Messages[i].Parts {
			if t.State(&req.Messages[i].Parts[n]) != nil {
				return true
			}
		}
	}
	return false
}

// target returns the options for requests to the endpoint with a key.
func (e *endpoint) target(key string, noState bool) *api.Target {
	e.learned.Lock()
	defer e.learned.Unlock()
	limit := e.MaxTokens
	if known := e.learned.limits[e.Model]; known > 0 && (limit == 0 || known < limit) {
		limit = known
	}
	if m := e.learned.models[e.Model]; limit == 0 && m != nil && m.served > 0 {
		limit = max(m.served*3/10, leastResponse) // some servers stop only at a given limit
	}
	t := &api.Target{
		Provider: e.Provider, BaseURL: e.BaseURL, Host: e.host, API: e.API.Name(), Model: e.Model, Key: key,
		Efforts: e.Efforts, MaxTokens: limit, Cache: e.Cache, ServiceTier: e.ServiceTier, Extra: e.Extra, TextCalls: e.TextCalls,
		NoState: noState, Quirks: e.learned.quirks[e.Model], Local: e.runsModels(),
	}
	if m := e.learned.models[e.Model]; m != nil {
		t.OpensThought, t.TextTools = m.opens, m.noTools && e.TextCalls != textCallsNever
	}
	return t
}

// textCallsNever is the value of TextCalls that forbids tools as text.
const textCallsNever = "never"

// encoded returns the kept messages in the encoding of a target.
func (e *endpoint) encoded(t *api.Target) *api.Cached {
	e.learned.Lock()
	defer e.learned.Unlock()
	as := encoding{t.Model, t.Quirks, t.NoState, t.TextTools}
	if e.learned.encoded[as] == nil {
		e.learned.encoded[as] = new(api.Cached)
	}
	return e.learned.encoded[as]
}

// learn stores quirks for later requests to the model.
func (e *endpoint) learn(q api.Quirks) {
	e.learned.Lock()
	defer e.learned.Unlock()
	e.learned.quirks[e.Model] = q
}

// fail returns an error of this endpoint. Its message is redacted.
func (e *endpoint) fail(kind model.ErrorKind, status int, message string, cause error) *model.Error {
	return e.complete(&model.Error{Kind: kind, Status: status, Message: message, Err: cause})
}

// complete adds the endpoint to an error and redacts its message.
func (e *endpoint) complete(err *model.Error) *model.Error {
	err.Endpoint, err.Provider, err.Model, err.Message = e.url, e.Provider, e.Model, e.redact(err.Message)
	err.AddressIn, err.KeyIn = e.AddressIn, e.KeyIn
	return err
}

// needsKey reports whether the provider requires a key. A server on this machine needs none.
func (e *endpoint) needsKey() bool {
	if e.Provider != "openai" && e.Provider != "openrouter" && e.API.Name() == api.Chat {
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

// leastResponse is the limit of a response in tokens from a server with a small window.
const leastResponse = 1024

const commandLasts = 30 * time.Minute

// pool returns the keys of the endpoint. If none is configured, it returns a single empty key.
// If again is true, it runs the key command again.
func (e *endpoint) pool(ctx context.Context, again bool) ([]string, error) {
	keys := e.Keys
	if e.Command != nil && len(keys) == 0 {
		e.learned.Lock()
		printed, at := e.learned.printed, e.learned.at
		e.learned.Unlock()
		if again || printed == "" || time.Since(at) >= commandLasts {
			key, err := e.Command(ctx)
			if err != nil {
				return nil, e.fail(model.ErrNoKey, 0, err.Error(), err)
			}
			printed = strings.TrimSpace(key)
			e.learned.Lock()
			e.learned.printed, e.learned.at = printed, time.Now()
			e.learned.Unlock()
		}
		keys = []string{printed}
	}
	if len(keys) > 0 {
		return keys, nil
	}
	if e.needsKey() {
		return nil, e.fail(model.ErrNoKey, 0, "", nil)
	}
	return []string{""}, nil
}

// looksLikeKey matches keys, including keys masked by a vendor in its message.
var looksLikeKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk|pk|rk|gsk|xai|key|hf|AIza)[-_][A-Za-z0-9_*.…-]{6,}|(?i:bearer)\s+[^\s"']{6,}`)
})

// redact replaces the keys of this endpoint, its password, and any text like a key.
func (e *endpoint) redact(text string) string {
	e.learned.Lock()
	keys := append(slices.Clip(e.Keys), e.learned.printed)
	e.learned.Unlock()
	for _, k := range keys {
		if len(k) >= 8 { // shorter keys are placeholders, such as "none"
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
