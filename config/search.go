package config

import (
	"fmt"
	"strings"
)

// SearchEngine is the configured search engine, with its URL and key.
type SearchEngine struct {
	WebSearch
	Key string
}

// searchBackend returns a backend's own endpoint and the environment variable of its key.
func searchBackend(name string) (home, keyName string) {
	switch name {
	case "brave":
		return "https://api.search.brave.com", "BRAVE_API_KEY"
	case "tavily":
		return "https://api.tavily.com", "TAVILY_API_KEY"
	case "firecrawl":
		return "https://api.firecrawl.dev", "FIRECRAWL_API_KEY"
	}
	return "", ""
}

// SearchEngine returns the search engine of web_search. If none is configured, it returns nil. The key
// from the environment is sent only to the backend's own endpoint. The error names the key to set.
func (l *Loaded) SearchEngine() (*SearchEngine, error) {
	e := &SearchEngine{WebSearch: l.Web.Search, Key: l.Web.Search.APIKey}
	if e.Backend == "" {
		return nil, nil
	}
	home, keyName := searchBackend(e.Backend)
	if e.URL == "" {
		e.URL = home
	}
	e.URL = strings.TrimRight(e.URL, "/")
	if e.URL == "" {
		return nil, fmt.Errorf("web.search.backend is %s, which needs web.search.url; web_search is not offered", e.Backend)
	}
	own := home != "" && sameHost(e.URL, home)
	if e.Key == "" && own {
		e.Key = l.environ[keyName]
	}
	if e.Key == "" && own {
		return nil, fmt.Errorf("web.search.backend is %s, but %s is not set and web.search.api_key is empty; web_search is not offered", e.Backend, keyName)
	}
	return e, nil
}
