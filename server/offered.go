package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/websearch"
	"github.com/hermes-ls/hermes-ls/tools"
)

// webTools read pages, and search where a search engine is configured.
func (x *Session) webTools(conf *config.Loaded) []tools.Tool {
	c := tools.WebConfig{AllowPrivate: conf.Web.AllowPrivate, Version: x.svc.Version}
	engine, err := searchEngine(conf)
	if err != nil {
		x.report([]config.Problem{{Source: config.Path(x.svc.Home), Text: err.Error()}})
	} else {
		c.Search = engine
	}
	return tools.Web(c)
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

// clarifyTool asks the host's user, where the host has a way to.
func (x *Session) clarifyTool(conf *config.Loaded) []tools.Tool {
	who, ok := x.host.(tools.Clarifier)
	if !ok {
		return nil
	}
	return []tools.Tool{tools.Clarify(who, time.Duration(conf.Approvals.Timeout)*time.Second)}
}

// diagnoser asks the host's editor about files that were edited, where the host has a
// way to and the files are the editor's.
func (x *Session) diagnoser() tools.Diagnoser {
	who, ok := x.host.(tools.Diagnoser)
	if !ok || x.away.away() {
		return nil
	}
	return who
}

// secrets are what no result may show: keys, and what commands are not given of
// the environment.
func secrets(conf *config.Loaded) map[string]string {
	return conf.Secrets(func(name string) bool {
		return proc.Secret(name) && !slices.Contains(conf.Terminal.EnvPassthrough, name)
	})
}
