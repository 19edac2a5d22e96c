package app

import (
	"fmt"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/clarify"
	"github.com/hermes-ls/hermes-ls/extensions/history"
	"github.com/hermes-ls/hermes-ls/extensions/instructions"
	"github.com/hermes-ls/hermes-ls/extensions/web"
	"github.com/hermes-ls/hermes-ls/internal/websearch"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/tools"
)

// New makes a service with all extensions.
func New(o server.Options) *server.Service {
	o.Features, o.Config = Features, Config()
	return server.New(o)
}

// Features is the list. Its order is that of tools, sections and events.
func Features(s *server.Service) []server.Feature {
	return []server.Feature{
		{Extension: instructions.New(s.Home), Section: persona},
		{Extension: web.New(s.Version), Section: webSearch},
		{Extension: clarify.New(), Section: questions},
		{Extension: history.New(s.Store)},
	}
}

func persona(c *config.Loaded) (any, error) {
	return instructions.Config{Personality: c.Agent.Personality, Text: c.Persona()}, nil
}

func questions(c *config.Loaded) (any, error) {
	return clarify.Config{Timeout: time.Duration(c.Approvals.Timeout) * time.Second}, nil
}

func webSearch(c *config.Loaded) (any, error) {
	engine, err := searchEngine(c)
	return tools.WebConfig{AllowPrivate: c.Web.AllowPrivate, Search: engine}, err
}

// searchEngine is where searches go; nil: nowhere.
func searchEngine(conf *config.Loaded) (*websearch.Engine, error) {
	set, err := conf.SearchEngine()
	if set == nil || err != nil {
		return nil, err
	}
	e := websearch.Engine{
		URL: set.URL, Headers: map[string]string{}, Body: set.Body, Key: set.Key, Results: []string{set.Results},
		Address: []string{set.Fields.URL}, Title: []string{set.Fields.Title}, Description: []string{set.Fields.Description},
	}
	for name, value := range set.Headers {
		e.Headers[name] = fmt.Sprint(value)
	}
	if set.Backend != "json" {
		if e, err = websearch.Named(set.Backend, set.URL, set.Key); err != nil {
			return nil, fmt.Errorf("web.search.backend: %w", err)
		}
	}
	if err := e.Check(); err != nil {
		return nil, fmt.Errorf("web.search: %w; web_search is not offered", err)
	}
	return &e, nil
}
