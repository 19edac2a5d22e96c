package web

import (
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/websearch"
)

// Settings is the section web of config.yaml.
type Settings struct {
	Search       Search `json:"search" doc:"Search engine of web_search. Without a backend, web_search is not offered."`
	AllowPrivate bool   `json:"allow_private" doc:"Let web_extract reach loopback and private addresses, and use the environment's proxy."`
}

// Search selects a search engine.
type Search struct {
	Backend string         `json:"backend" enum:",searxng,brave,tavily,firecrawl,json" doc:"Search engine. json: any engine that answers in JSON, described by the keys below."`
	URL     string         `json:"url" doc:"Endpoint. Empty: the backend's own. json: a template with {searchTerms} and {count}."`
	APIKey  string         `json:"api_key" secret:"yes" doc:"Key of the search engine. Empty: the backend's environment variable."`
	Headers map[string]any `json:"headers" doc:"json: headers by name. {key} in a value is replaced by the key."`
	Body    string         `json:"body" doc:"json: a template of the JSON that is posted. Empty: a GET request without a body."`
	Results string         `json:"results" doc:"json: path of the list of results, such as web.results."`
	Fields  Fields         `json:"fields" doc:"json: paths within a result."`
}

// Fields are the paths of a result's fields.
type Fields struct {
	URL         string `json:"url" doc:"Path of its address."`
	Title       string `json:"title" doc:"Path of its title."`
	Description string `json:"description" doc:"Path of its description."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "web", Doc: "Web search and extraction.", Defaults: Settings{Search: Search{
		Headers: map[string]any{}, Results: "results",
		Fields: Fields{URL: "url", Title: "title", Description: "description"},
	}}}
}

// ownEndpoint returns the endpoint of a backend and the environment variable of its key. If the
// backend has no endpoint, it returns "".
func ownEndpoint(backend string) (url, keyName string) {
	switch backend {
	case "brave":
		return "https://api.search.brave.com", "BRAVE_API_KEY"
	case "tavily":
		return "https://api.tavily.com", "TAVILY_API_KEY"
	case "firecrawl":
		return "https://api.firecrawl.dev", "FIRECRAWL_API_KEY"
	}
	return "", ""
}

// KeyName returns the environment variable with the backend's key. If it has none, it returns "".
func (s Search) KeyName() string {
	_, name := ownEndpoint(s.Backend)
	return name
}

// Engine returns the search engine of web_search. If none is configured, it returns nil. A key from
// the environment is sent only to the backend's endpoint. The error names the key to set.
func (s Search) Engine(c *config.Loaded) (*websearch.Engine, error) {
	if s.Backend == "" {
		return nil, nil
	}
	own, keyName := ownEndpoint(s.Backend)
	if s.URL == "" {
		s.URL = own
	}
	s.URL = strings.TrimRight(s.URL, "/")
	if s.URL == "" {
		return nil, fmt.Errorf("web.search.backend is %s, which needs web.search.url; web_search is not offered", s.Backend)
	}
	if s.APIKey == "" && own != "" && config.SameHost(s.URL, own) {
		if s.APIKey = c.Getenv(keyName); s.APIKey == "" {
			return nil, fmt.Errorf("web.search.backend is %s, but %s is not set and web.search.api_key is empty; web_search is not offered", s.Backend, keyName)
		}
	}
	e, err := s.describe()
	if err != nil {
		return nil, fmt.Errorf("web.search.backend: %w", err)
	}
	if err := e.Check(); err != nil {
		return nil, fmt.Errorf("web.search: %w; web_search is not offered", err)
	}
	return &e, nil
}

// describe returns the description of the backend.
func (s Search) describe() (websearch.Engine, error) {
	if s.Backend != "json" {
		return websearch.Named(s.Backend, s.URL, s.APIKey)
	}
	e := websearch.Engine{
		URL: s.URL, Headers: map[string]string{}, Body: s.Body, Key: s.APIKey, Results: []string{s.Results},
		Address: []string{s.Fields.URL}, Title: []string{s.Fields.Title}, Description: []string{s.Fields.Description},
	}
	for name, value := range s.Headers {
		e.Headers[name] = fmt.Sprint(value)
	}
	return e, nil
}
