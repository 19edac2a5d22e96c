package acp

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
)

// chunk is a queued piece of a message. A long answer has tens of thousands of chunks, so a chunk
// is encoded by hand. While they wait, pieces of one message are merged.
type chunk struct {
	session, kind, message string
	text                   []byte
}

func (c *chunk) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`...)
	dst = quote(dst, c.session)
	dst = append(dst, `,"update":{"sessionUpdate":"`...)
	dst = append(dst, c.kind...)
	dst = append(dst, `","content":{"type":"text","text":`...)
	dst = quote(dst, c.text)
	dst = append(dst, '}')
	if c.message != "" {
		dst = quote(append(dst, `,"messageId":`...), c.message)
	}
	return append(dst, `}}}`...), nil
}

// quote appends a JSON string. Invalid UTF-8 becomes U+FFFD.
func quote[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

func (c *chunk) Merge(later wire.Note) bool {
	l, ok := later.(*chunk)
	if !ok || l.session != c.session || l.kind != c.kind || l.message != c.message {
		return false
	}
	c.text = append(c.text, l.text...)
	return true
}

func (c *chunk) Size() int { return 200 + len(c.text) }

// note is any other update. While notes wait, updates of one tool call are merged. Of a value sent
// whole, only the newest is kept.
type note struct {
	session string
	update  acp.Update
}

func (n *note) AppendJSON(dst []byte) ([]byte, error) {
	return wire.AppendNotification(dst, acp.MethodSessionUpdate, acp.SessionNotification{SessionID: n.session, Update: n.update})
}

func (n *note) Merge(later wire.Note) bool {
	l, ok := later.(*note)
	if !ok || l.session != n.session {
		return false
	}
	switch update := l.update.(type) {
	case *acp.ToolCall:
		call, ok := n.update.(*acp.ToolCall)
		if !ok || call.ToolCallID != update.ToolCallID || update.SessionUpdate != acp.UpdateToolCallNews {
			return false
		}
		n.update = joined(call, update)
		return true
	case *acp.Plan:
		_, ok = n.update.(*acp.Plan)
	case *acp.UsageUpdate:
		_, ok = n.update.(*acp.UsageUpdate)
	case *acp.OptionsUpdate:
		_, ok = n.update.(*acp.OptionsUpdate)
	default:
		ok = false
	}
	if ok {
		n.update = l.update
	}
	return ok
}

// joined is a call with later news of it.
func joined(call, news *acp.ToolCall) *acp.ToolCall {
	all := *call
	if news.Title != "" {
		all.Title = news.Title
	}
	if news.Status != "" {
		all.Status = news.Status
	}
	if news.Content != nil {
		all.Content = news.Content
	}
	if news.Locations != nil {
		all.Locations = news.Locations
	}
	if news.RawOutput != nil {
		all.RawOutput = news.RawOutput
	}
	if news.Meta != nil {
		all.Meta = maps.Clone(news.Meta)
	}
	return &all
}

func (n *note) Size() int {
	size := 300
	if call, ok := n.update.(*acp.ToolCall); ok {
		size += len(call.RawInput) + len(call.RawOutput)
		for _, c := range call.Content {
			if c.Content != nil {
				size += len(c.Content.Text) + len(c.Content.Data)
			}
			if c.NewText != nil {
				size += len(*c.NewText)
			}
			if c.OldText != nil {
				size += len(*c.OldText)
			}
		}
	}
	return size
}
