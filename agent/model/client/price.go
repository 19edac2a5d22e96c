package client

import (
	"cmp"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Price is in US dollars per million tokens. CacheRead and CacheWrite are 0 if they cost as
// much as Input.
type Price struct{ Input, CacheRead, Output, CacheWrite float64 }

// Facts are facts about a model from a table. They apply if they are missing from the
// configuration and from the endpoint's metadata. A zero field is not known.
type Facts struct {
	Window int // tokens
	Images *bool
	Price  *Price
}

// defaultWindow is the context window of an unknown model.
const defaultWindow = 128000

// price returns the configured price, else that of the endpoint's list, else of the table. If
// none is known, it returns false. A configured price of 0 is known.
func (e *endpoint) price() (Price, bool) {
	if e.Price != nil {
		return *e.Price, true
	}
	p := e.metadata().price
	if p == (Price{}) && e.Known.Price != nil {
		p = *e.Known.Price
	}
	return p, p != (Price{})
}

// Price returns the price of the primary model. If it is not known, it returns false.
func (m *Model) Price() (model.Price, bool) {
	if len(m.endpoints) == 0 {
		return model.Price{}, false
	}
	p, known := m.endpoints[0].price()
	return model.Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead}, known
}

// cost returns the cost of a request if the response omits it. If no price is known, it returns 0.
func (e *endpoint) cost(u *model.Usage) float64 {
	p, _ := e.price()
	read, write := cmp.Or(p.CacheRead, p.Input), cmp.Or(p.CacheWrite, p.Input)
	plain := u.Input - u.CachedRead - u.CachedWrite
	return (float64(plain)*p.Input + float64(u.CachedRead)*read + float64(u.CachedWrite)*write + float64(u.Output)*p.Output) / 1e6
}
