package models

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

// Endpoint returns a configured endpoint for the client. Its key command uses the PATH of path;
// nil: the process's PATH.
func Endpoint(e config.Endpoint, path userpath.Finder, log *slog.Logger) client.Endpoint {
	out := client.Endpoint{
		API: apiOf(e), Provider: e.Provider, BaseURL: e.BaseURL, Model: e.Model, Keys: e.Keys,
		AddressIn: e.AddressFrom, KeyIn: e.KeyFrom,
		Pool: e.Pool, Cooldown: e.Cooldown, MaxConcurrent: e.Concurrent,
		Headers: e.Headers, Proxy: e.Proxy, CAFile: program.InHome(e.CAFile),
		Window: e.Window, MaxTokens: e.MaxTokens, Efforts: e.Efforts, Images: e.Images,
		Cache: api.Cache{Off: e.CacheOff, Long: e.CacheLong}, ServiceTier: e.ServiceTier, TextCalls: e.TextCalls,
	}
	if e.KeyCommand != "" {
		out.Command = func(ctx context.Context) (string, error) { return printKey(ctx, e.KeyCommand, path) }
	}
	if p := e.Price; p != nil {
		out.Price = &client.Price{Input: p.Input, CacheRead: p.CacheRead, Output: p.Output, CacheWrite: p.CacheWrite}
	}
	out.Known = client.Facts{Window: e.Table.Window, Images: e.Table.Images}
	if p := e.Table.Price; p != nil {
		out.Known.Price = &client.Price{Input: p.Input, CacheRead: p.CacheRead, Output: p.Output, CacheWrite: p.CacheWrite}
	}
	for _, name := range slices.Sorted(maps.Keys(e.ExtraBody)) {
		value, err := api.Marshal(e.ExtraBody[name])
		if err != nil {
			log.Warn("a field of extra_body is not sent", "field", name, "error", err)
			continue
		}
		out.Extra = append(out.Extra, api.Field{Name: name, Value: value})
	}
	return out
}

// apiOf returns the API of an endpoint.
func apiOf(e config.Endpoint) api.API {
	address, _, _ := strings.Cut(e.BaseURL, "?")
	address = strings.TrimRight(address, "/")
	ends := func(path string) bool { return e.API == "" && strings.HasSuffix(address, path) }
	switch {
	case e.API == api.Messages, ends("/anthropic"), ends("/anthropic/v1"), ends("/v1/messages"):
		return messages.API{}
	case e.API == api.Responses, ends("/v1/responses"):
		return responses.API{}
	case e.API == api.Gemini:
		return gemini.API{}
	default:
		return openai.API{}
	}
}
