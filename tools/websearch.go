package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/websearch"
)

//go:embed websearch.md
var webSearchWords string

type webSearchIn struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitempty" jsonschema:"results at most; default 5, no more than 20"`
}

const (
	webSearchDefault = 5
	webSearchMost    = 20
	longestQuery     = 400 // characters; engines refuse more
)

func searchWebTool(engine websearch.Engine) Tool {
	return New(Tool{
		Name: "web_search", Toolset: "web", Order: -30, Kind: KindFetch, ReadOnly: true,
		Description: strings.TrimSpace(webSearchWords),
		Title:       titled(func(in webSearchIn) string { return "Search the web for “" + in.Query + "”" }),
		Script:      `(query, limit=5) → data.web [{url, title, description}]`,
	}, func(ctx context.Context, env *Env, _ Call, in webSearchIn) (Result, error) {
		query := strings.Join(strings.Fields(in.Query), " ")
		switch n := len([]rune(query)); {
		case n == 0:
			return Fail("web_search: the query is empty; say what to search for"), nil
		case n > longestQuery:
			return Fail("web_search: the query has %d characters, at most %d are taken; keep the words that matter", n, longestQuery), nil
		case in.Limit < 0:
			return Fail("web_search: limit must be 1 to %d", webSearchMost), nil
		}
		if refusal, found := refuseSecret(env, query); found {
			return Fail("web_search: the query was not sent: %s. Search without it", refusal), nil
		}
		limit := webSearchDefault
		if in.Limit > 0 {
			limit = min(in.Limit, webSearchMost)
		}
		hits, err := engine.Search(ctx, query, limit)
		if err != nil {
			return Result{}, fmt.Errorf("web_search: %w", err)
		}
		return OK(map[string]any{"data": map[string]any{"web": orEmpty(hits)}}).With(Content{Text: hitList(hits)}), nil
	})
}

// hitList is what the editor shows of a search.
func hitList(hits []websearch.Hit) string {
	if len(hits) == 0 {
		return "Nothing was found."
	}
	var b strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&b, "%s\n%s\n", oneLine(h.Title, 120), oneLine(h.URL, 300))
	}
	return strings.TrimSpace(b.String())
}
