package agent

import (
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// gauge estimates the tokens of the next request. It adds an estimate for the newest messages
// to the endpoint's count. Endpoints can report wrong counts, so the result is never far below
// the own estimate.
type gauge struct {
	base    int // own count of the system prompt and the tools
	own     int // own count of the whole next request
	counted int // the part of own that the endpoint counted
	tokens  int // the endpoint's count
}

// leastShare is the share of the own estimate below which the result never falls.
const leastShare = 0.9

// mostRatio limits the ratio of endpoint tokens to own tokens.
const mostRatio = 3

// bytesPerToken is typical for English and code, for limits in bytes.
const bytesPerToken = 4

// messageTokens is the cost of a message besides its text.
const messageTokens = 4

// used estimates the tokens of the next request.
func (g *gauge) used() int {
	return max(g.tokens+g.scaled(g.own-g.counted), int(leastShare*float64(g.own)))
}

// fixed estimates the tokens of the system prompt and the tools.
func (g *gauge) fixed() int { return g.scaled(g.base) }

// scaled converts an own count to tokens of the endpoint. After enough tokens, it uses the
// endpoint's ratio.
func (g *gauge) scaled(own int) int {
	if g.counted > 500 && g.tokens > 0 {
		return int(float64(own) * min(max(float64(g.tokens)/float64(g.counted), leastShare), 2))
	}
	return own
}

// measured sets the endpoint's count of a request and its response, the last message. It
// subtracts reasoning, which is not sent again.
func (g *gauge) measured(u *model.Usage) {
	if u.Input == 0 {
		return // the endpoint does not count
	}
	most := mostRatio*g.own + 4000 // a higher count is for something else
	g.tokens, g.counted = min(max(u.Input+u.Output-min(u.Reasoning, u.Output), 0), most), g.own
}

// ground adds the system prompt and the tools. If they are already counted, it does
// nothing.
func (g *gauge) ground(system string, offered []model.Tool) {
	if g.base > 0 {
		return
	}
	g.base = tools.Tokens(system)
	for _, t := range offered {
		g.base += tools.Tokens(t.Name) + tools.Tokens(t.Description) + tools.Tokens(string(t.Schema)) + messageTokens
	}
	g.own += g.base
}

// setPrefix replaces the counts of the system prompt and the tools.
func (g *gauge) setPrefix(system string, offered []model.Tool) {
	messages := g.own - g.base
	g.base, g.own = 0, 0
	g.ground(system, offered)
	g.shrunk(messages)
}

// shrunk resets the counts after a compaction. messages is the own count of the remaining
// messages.
func (g *gauge) shrunk(messages int) {
	own := messages + g.base
	g.tokens, g.counted, g.own = g.scaled(own), own, own
}

// weight returns the own count of a message.
func weight(m *model.Message) int {
	n := messageTokens
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case model.TextType, model.ResultType:
			n += tools.Tokens(p.Text)
		case model.CallType:
			n += tools.Tokens(p.Call.ID) + tools.Tokens(p.Call.Name) + tools.Tokens(p.Call.Args) + messageTokens
		case model.ImageType:
			n += model.ImageTokens
		}
	}
	return n
}
