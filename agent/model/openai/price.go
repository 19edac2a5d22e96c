package openai

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// price is in US dollars per million tokens.
type price struct{ input, cached, output float64 }

// cost returns the cost of a request if the response does not have it. It uses the prices
// of the endpoint's list. For OpenAI, it uses listPrice. If no price is known, it returns
// 0.
func (e *endpoint) cost(u *model.Usage) float64 {
	p := e.told().price
	if p == (price{}) && e.Provider == "openai" {
		p = listPrice(e.Model)
	}
	cached := p.cached
	if cached == 0 {
		cached = p.input
	}
	return (float64(u.Input-u.CachedRead)*p.input + float64(u.CachedRead)*cached + float64(u.Output)*p.output) / 1e6
}

// listPrice returns the price of the longest known prefix of a model's id. If the version
// is not known, it returns zero, because a wrong price is worse than none.
func listPrice(id string) price {
	best, found := 0, price{}
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
	price  price
}{
	{"gpt-5", price{1.25, 0.125, 10}}, {"gpt-5-mini", price{0.25, 0.025, 2}}, {"gpt-5-nano", price{0.05, 0.005, 0.4}},
	{"gpt-5-chat-latest", price{1.25, 0.125, 10}}, {"gpt-5-codex", price{1.25, 0.125, 10}}, {"gpt-5-pro", price{15, 0, 120}},
	{"gpt-4.1", price{2, 0.5, 8}}, {"gpt-4.1-mini", price{0.4, 0.1, 1.6}}, {"gpt-4.1-nano", price{0.1, 0.025, 0.4}},
	{"gpt-4o", price{2.5, 1.25, 10}}, {"gpt-4o-mini", price{0.15, 0.075, 0.6}},
	{"o1", price{15, 7.5, 60}}, {"o3", price{2, 0.5, 8}}, {"o3-mini", price{1.1, 0.55, 4.4}}, {"o4-mini", price{1.1, 0.275, 4.4}},
}
