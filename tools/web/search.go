package web

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/websearch"
	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed search.md
var webSearchWords string

type webSearchIn struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitempty" jsonschema:"number of results; default 5, at most 20"`
}

const (
	webSearchDefault = 5
	webSearchMost    = 20
	longestQuery     = 400 // characters; engines refuse more
)

func searchWebTool(engine websearch.Engine, secrets *tools.Secrets) tools.Tool {
	return tools.New(tools.Tool{
		Name: "web_search", Toolset: "web", Order: -30, Kind: tools.KindFetch, ReadOnly: true, Network: true,
		Description: strings.TrimSpace(webSearchWords),
		Title:       tools.Titled(func(in webSearchIn) string { return "Search the web for “" + in.Query + "”" }),
		Script:      `(query, limit=5) → data.web [{url, title, description}]`,
	}, func(ctx context.Context, _ *tools.Env, _ tools.Call, in webSearchIn) (tools.Result, error) {
		query := strings.Join(strings.Fields(in.Query), " ")
		switch n := len([]rune(query)); {
		case n == 0:
			return tools.Fail("web_search: the query is empty; say what to search for"), nil
		case n > longestQuery:
			return tools.Fail("web_search: the query has %d characters, at most %d are taken; keep the words that matter", n, longestQuery), nil
		case in.Limit < 0:
			return tools.Fail("web_search: limit must be 1 to %d", webSearchMost), nil
		}
		if refusal, found := refuseSecret(secrets, query); found {
			return tools.Fail("web_search: the query was not sent: %s. Search without it", refusal), nil
		}
		limit := webSearchDefault
		if in.Limit > 0 {
			limit = min(in.Limit, webSearchMost)
		}
		hits, err := engine.Search(ctx, query, limit)
		if err != nil {
			return tools.Result{}, fmt.Errorf("web_search: %w", err)
		}
		return tools.OK(map[string]any{"data": map[string]any{"web": tools.OrEmpty(hits)}}).With(tools.Content{Text: hitList(hits)}), nil
	})
}

// hitList returns the editor's text for a search.
func hitList(hits []websearch.Hit) string {
	if len(hits) == 0 {
		return "Nothing was found."
	}
	var b strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&b, "%s\n%s\n", tools.OneLine(h.Title, 120), tools.OneLine(h.URL, 300))
	}
	return strings.TrimSpace(b.String())
}
