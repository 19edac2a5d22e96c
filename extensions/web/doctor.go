package web

import (
	"context"
	"strings"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
)

// Doctor names the search engine. If there is none, it says how to set one.
func Doctor(_ context.Context, _ cli.Home, loaded *config.Loaded) []cli.Finding {
	search := config.SectionOf[Settings](loaded, "web").Search
	engine, err := search.Engine(loaded)
	switch {
	case err != nil:
		return []cli.Finding{{State: cli.Note, What: "web search", Text: err.Error()}}
	case engine == nil:
		return []cli.Finding{{State: cli.Note, What: "web search", Text: "none: the model can search once web.search.backend is set (searxng, brave, tavily, firecrawl, json)"}}
	}
	where, _, _ := strings.Cut(engine.URL, "?")
	return []cli.Finding{{State: cli.OK, What: "web search", Text: search.Backend + " at " + where}}
}
