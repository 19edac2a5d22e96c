package agent

import "github.com/hermes-ls/hermes-ls/agent/model"

// gauge estimates the tokens of the next request. It adds an estimate for the newest
// messages to the endpoint's count.
type gauge struct {
	base    int // bytes of the system prompt and the tools
	bytes   int // of the whole next request
	counted int // the bytes that the endpoint has counted
	tokens  int // the endpoint's count
}

// bytesPerToken is typical for English and code. The endpoint's own count replaces it.
const bytesPerToken = 4

// imageBytes is the estimate for a picture. Endpoints count its size in pixels, not its
// bytes.
const imageBytes = 1500 * bytesPerToken

// messageBytes is the cost of a message besides its text.
const messageBytes = 4 * bytesPerToken

// used estimates the tokens of the next request.
func (g *gauge) used() int {
	return g.tokens + g.estimate(g.bytes-g.counted)
}

// estimate converts bytes to tokens. If the endpoint has counted enough, it uses the
// endpoint's ratio.
func (g *gauge) estimate(bytes int) int {
	if g.counted > 2000 && g.tokens > 0 {
		rate := min(max(float64(g.counted)/float64(g.tokens), 2), 6)
		return int(float64(bytes) / rate)
	}
	return bytes / bytesPerToken
}

// measured sets the endpoint's count of a request and its response, the last message. It
// subtracts reasoning, which is not sent again.
func (g *gauge) measured(u *model.Usage) {
	if u.Input == 0 {
		return // the endpoint does not count
	}
	g.tokens, g.counted = u.Input+u.Output-min(u.Reasoning, u.Output), g.bytes
}

// ground adds the system prompt and the tools. If they are already counted, it does
// nothing.
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

// setPrefix replaces the counts of the system prompt and the tools.
func (g *gauge) setPrefix(system string, offered []model.Tool) {
	messages := g.bytes - g.base
	g.base, g.bytes = 0, 0
	g.ground(system, offered)
	g.shrunk(messages)
}

// shrunk resets the counts after a compaction. bytes is the size of the remaining
// messages.
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
