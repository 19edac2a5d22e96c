package agent

import "github.com/hermes-ls/hermes-ls/agent/model"

// gauge estimates how full the context window is: the endpoint's count, and an estimate of
// the messages since.
type gauge struct {
	base    int // bytes of the system prompt and the tools
	bytes   int // of everything that the next request says
	counted int // of these, by the endpoint
	tokens  int // what the endpoint counted
}

// bytesPerToken is usual for English and code. The endpoint's own count replaces it.
const bytesPerToken = 4

// imageBytes is what a picture counts for; endpoints charge by its size, not by
// its bytes.
const imageBytes = 1500 * bytesPerToken

// messageBytes is the cost of a message besides its text.
const messageBytes = 4 * bytesPerToken

// used estimates the tokens of the next request.
func (g *gauge) used() int {
	return g.tokens + g.estimate(g.bytes-g.counted)
}

// estimate turns bytes into tokens at the rate of what the endpoint has counted.
func (g *gauge) estimate(bytes int) int {
	if g.counted > 2000 && g.tokens > 0 {
		rate := min(max(float64(g.counted)/float64(g.tokens), 2), 6)
		return int(float64(bytes) / rate)
	}
	return bytes / bytesPerToken
}

// measured sets the endpoint's count of a request and its response, the last message.
// Reasoning is not sent back.
func (g *gauge) measured(u *model.Usage) {
	if u.Input == 0 {
		return // an endpoint that does not count
	}
	g.tokens, g.counted = u.Input+u.Output-min(u.Reasoning, u.Output), g.bytes
}

// ground counts the system prompt and the tools, once.
func (g *gauge) ground(system string, offered []model.Tool) {
	if g.base > 0 {
		return
	}
	g.base = len(system)
	for _, t := range offered {
		g.base += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	g.bytes += g.base
}

// reground counts another system prompt and other tools in their place.
func (g *gauge) reground(system string, offered []model.Tool) {
	messages := g.bytes - g.base
	g.base, g.bytes = 0, 0
	g.ground(system, offered)
	g.shrunk(messages)
}

// shrunk starts again after a compaction that has left so many bytes of messages.
func (g *gauge) shrunk(bytes int) {
	bytes += g.base
	g.tokens, g.counted, g.bytes = g.estimate(bytes), bytes, bytes
}

func weight(m *model.Message) int {
	n := messageBytes
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case model.TextType, model.ResultType:
			n += len(p.Text)
		case model.CallType:
			n += len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Args) + messageBytes
		case model.ImageType:
			n += imageBytes
		}
	}
	return n
}
