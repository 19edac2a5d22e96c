package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Endpoint is the address of a model with the keys for it.
type Endpoint struct {
	Provider string
	BaseURL  string // without a trailing slash; empty for the embedded model
	Model    string
	Keys     []string // empty: the endpoint needs none
	Window   int      // tokens; 0: not configured
	// TextCalls is model.text_calls: auto, never or always.
	TextCalls string

	API         string        // chat, responses, messages or gemini; empty: by the base URL
	KeyCommand  string        // prints the key; empty: none
	Pool        string        // how a key is chosen; empty: the first that works
	Cooldown    time.Duration // rest of a limited key if the reply names no time; 0: 60 s
	Concurrent  int           // requests at once for each key; 0: no limit
	Headers     map[string]string
	Proxy       string
	CAFile      string
	ExtraBody   map[string]any
	MaxTokens   int // limit of a response; 0: the model's own
	CacheOff    bool
	CacheLong   bool
	ServiceTier string
	Stall       time.Duration // between events; 0: 90 s
	Efforts     []string      // levels of effort that the model has; nil: not known
	Images      *bool         // whether the model accepts images; nil: not known
	Price       *Price        // nil: not known
}

// Price is in US dollars per million tokens.
type Price struct{ Input, Output, CacheRead, CacheWrite float64 }

// provider describes a provider's own endpoint.
type provider struct {
	baseURL  string
	keyName  string // environment variable with its key
	needsKey bool
}

// ErrProvider is the error of an endpoint with an unknown provider.
var ErrProvider = errors.New("unknown provider")

// providerError is an [ErrProvider] with its own text.
type providerError string

func (e providerError) Error() string        { return string(e) }
func (e providerError) Is(target error) bool { return target == ErrProvider }

// providers returns the values of model.provider.
func providers() []string {
	f, _ := named(fieldsOf(reflect.TypeFor[Model]()), "provider")
	return f.enum
}

func providerOf(name string) provider {
	switch name {
	case "openai":
		return provider{"https://api.openai.com/v1", "OPENAI_API_KEY", true}
	case "openrouter":
		return provider{"https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", true}
	case "ollama":
		return provider{baseURL: "http://127.0.0.1:11434/v1"}
	case "lmstudio":
		return provider{baseURL: "http://127.0.0.1:1234/v1"}
	}
	return provider{keyName: "HERMES_API_KEY"}
}

// Endpoints returns the endpoints of the model and its fallbacks, in the order in which they are
// tried. The error says how to configure one.
func (l *Loaded) Endpoints() ([]Endpoint, error) {
	first, err := l.endpoint()
	if err != nil {
		return nil, err
	}
	out := []Endpoint{first}
	for _, model := range l.Model.Fallback {
		next := first
		next.Model = model
		out = append(out, next)
	}
	return out, nil
}

func (l *Loaded) endpoint() (Endpoint, error) { return l.resolve("model", l.Model) }

// resolve returns the endpoint that a section describes.
func (l *Loaded) resolve(section string, m Model) (Endpoint, error) {
	if !slices.Contains(providers(), m.Provider) {
		return Endpoint{}, providerError(fmt.Sprintf("%s.provider is %q, which is not known. Known are %s. No request was sent. "+
			"For another service with an OpenAI-compatible API, use custom with %[1]s.base_url", section, m.Provider, strings.Join(providers(), ", ")))
	}
	if m.Provider == "auto" {
		m.Provider = l.firstWithKey(m)
	}
	out := Endpoint{Provider: m.Provider, Model: m.Default, Window: m.ContextWindow, TextCalls: l.Model.TextCalls}
	if m.Provider == "embedded" {
		out.Model = "embedded"
		return out, nil
	}
	p := providerOf(m.Provider)
	if m.BaseURL != "" && !SameHost(m.BaseURL, p.baseURL) {
		// Another service's endpoint: the provider's key is not sent there. If no other provider is
		// named, the key of custom is.
		if p = (provider{}); m.Provider == "openai" || m.Provider == "custom" {
			p = providerOf("custom")
		}
		out.Provider = "custom"
	}
	out.BaseURL = strings.TrimRight(firstOf(m.BaseURL, p.baseURL), "/")
	if out.BaseURL == "" {
		return Endpoint{}, fmt.Errorf("%s.provider is custom but %[1]s.base_url is empty. %s", section, l.howTo())
	}
	if u, err := url.Parse(out.BaseURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return Endpoint{}, fmt.Errorf("%s.base_url %q is no http(s) URL. %s", section, out.BaseURL, l.howTo())
	}
	out.Keys = m.APIKey
	if len(out.Keys) == 0 && l.environ[p.keyName] != "" {
		out.Keys = []string{l.environ[p.keyName]}
	}
	if p.needsKey && len(out.Keys) == 0 {
		return Endpoint{}, fmt.Errorf("no key for the model provider %q: %s is not set and %s.api_key is empty. %s", m.Provider, p.keyName, section, l.howTo())
	}
	return out, nil
}

// firstWithKey returns the provider for auto. If none has a key, it returns openai, whose error
// names its key.
func (l *Loaded) firstWithKey(m Model) string {
	if m.BaseURL == "" && len(m.APIKey) == 0 && l.environ["OPENAI_API_KEY"] == "" && l.environ["OPENROUTER_API_KEY"] != "" {
		return "openrouter"
	}
	return "openai"
}

func (l *Loaded) howTo() string {
	return "Run `hermes-ls login`, or put the key into the environment or " + l.Home + "/.env. " +
		"For another model, set model.provider (ollama, lmstudio, openrouter) or model.base_url in " + Path(l.Home) + "."
}

// detachKeys removes an api_key from a section if a higher source sets another endpoint there. A key
// is sent only to the endpoint that it was configured for.
func (l *Loaded) detachKeys(tree map[string]any, above source, clean map[string]any) {
	for _, section := range append([]string{"model"}, slices.Sorted(maps.Keys(l.schema.routes))...) {
		below, _ := tree[section].(map[string]any)
		over, _ := clean[section].(map[string]any)
		if below["api_key"] == nil || over["api_key"] != nil {
			continue
		}
		after := maps.Clone(below)
		merge(after, over)
		if !otherEndpoint(below, after) {
			continue
		}
		l.detached = append(l.detached, keysOf(below["api_key"])...)
		delete(below, "api_key")
		key := section + ".api_key"
		l.problem(above.name, 0, fmt.Sprintf("%s was written for %s and is not sent to %s; set %[1]s beside the new endpoint", key, addressOf(below), addressOf(after)))
	}
}

// otherEndpoint reports whether after describes another endpoint than before. A key without provider
// and base_url belongs to any base_url.
func otherEndpoint(before, after map[string]any) bool {
	if addressOf(before) == addressOf(after) {
		return false
	}
	if textOf(before, "base_url") != "" || textOf(before, "provider") != "" {
		return true
	}
	return textOf(after, "base_url") == ""
}

// addressOf returns the address of a section's endpoint. If only the provider is known, it returns its name.
func addressOf(section map[string]any) string {
	if url := textOf(section, "base_url"); url != "" {
		return strings.TrimRight(url, "/")
	}
	name := firstOf(textOf(section, "provider"), "openai")
	if name == "auto" { // a configured key is for openai
		name = "openai"
	}
	return firstOf(providerOf(name).baseURL, name)
}

func textOf(section map[string]any, key string) string {
	text, _ := section[key].(string)
	return text
}

func keysOf(value any) Keys {
	var keys Keys
	if data, err := json.Marshal(value); err == nil {
		_ = json.Unmarshal(data, &keys) // it has been checked
	}
	return keys
}

// SameHost reports whether two addresses have the same scheme and host.
func SameHost(a, b string) bool {
	ua, errA := url.Parse(a)
	ub, errB := url.Parse(b)
	return errA == nil && errB == nil && ua.Scheme == ub.Scheme && strings.EqualFold(ua.Host, ub.Host)
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
