package client

import (
	"cmp"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Price is in US dollars per million tokens. CacheRead and CacheWrite are 0 if they cost as
// much as Input.
type Price struct{ Input, CacheRead, Output, CacheWrite float64 }

// cost returns the cost of a request if the response does not have it: by the configured
// price, or the endpoint's list. For OpenAI, it uses listPrice. If no price is known, it
// returns 0.
func (e *endpoint) cost(u *model.Usage) float64 {
	p := e.told().price
	if e.Price != nil {
		p = *e.Price
	}
	if p == (Price{}) && e.Provider == "openai" {
		p = listPrice(e.Model)
	}
	read, write := cmp.Or(p.CacheRead, p.Input), cmp.Or(p.CacheWrite, p.Input)
	plain := u.Input - u.CachedRead - u.CachedWrite
	return (float64(plain)*p.Input + float64(u.CachedRead)*read + float64(u.CachedWrite)*write + float64(u.Output)*p.Output) / 1e6
}

// listPrice returns the price of the longest known prefix of a model's id. If the version
// is not known, it returns zero, because a wrong price is worse than none.
func listPrice(id string) Price {
	best, found := 0, Price{}
	for _, p := range prices {
		rest, ok := strings.CutPrefix(id, p.prefix)
		if ok && len(p.prefix) > best && (rest == "" || strings.HasPrefix(rest, "-20")) { // a dated version
			best, found = len(p.prefix), p.price
		}
	}
	return found
}

// prices are OpenAI's prices, published in 2025. OpenRouter reports the cost of each
// request.
var prices = [...]struct {
	prefix string
	price  Price
}{
	{"gpt-5", Price{1.25, 0.125, 10, 0}}, {"gpt-5-mini", Price{0.25, 0.025, 2, 0}}, {"gpt-5-nano", Price{0.05, 0.005, 0.4, 0}},
	{"gpt-5-chat-latest", Price{1.25, 0.125, 10, 0}}, {"gpt-5-codex", Price{1.25, 0.125, 10, 0}}, {"gpt-5-pro", Price{15, 0, 120, 0}},
	{"gpt-4.1", Price{2, 0.5, 8, 0}}, {"gpt-4.1-mini", Price{0.4, 0.1, 1.6, 0}}, {"gpt-4.1-nano", Price{0.1, 0.025, 0.4, 0}},
	{"gpt-4o", Price{2.5, 1.25, 10, 0}}, {"gpt-4o-mini", Price{0.15, 0.075, 0.6, 0}},
	{"o1", Price{15, 7.5, 60, 0}}, {"o3", Price{2, 0.5, 8, 0}}, {"o3-mini", Price{1.1, 0.55, 4.4, 0}}, {"o4-mini", Price{1.1, 0.275, 4.4, 0}},
}
