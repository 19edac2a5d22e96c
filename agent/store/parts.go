package store

import (
	"fmt"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// columns are the parts of a message as the table messages stores them. Texts, reasoning, calls
// and media are in separate columns, for search and older versions.
type columns struct {
	callID, name    string
	text, reasoning string // of all parts, joined
	calls           []model.Call
	media           []model.Image // of image and file parts
	// layout holds the order of the parts and their state. It is nil for the usual order
	// without state.
	layout []layoutPart
}

// layoutPart is a part without its content. The content is in the next bytes of text or
// reasoning, or the next element of calls or media.
type layoutPart struct {
	Type  model.PartType `json:"type"`
	Bytes int            `json:"bytes,omitempty"`
	State *model.State   `json:"state,omitempty"`
}

// columnsOf splits a message into columns.
func columnsOf(m *model.Message) columns {
	c := columns{callID: m.CallID(), name: m.Name(), text: m.Text(), reasoning: m.Reasoning(), calls: m.Calls()}
	layout := make([]layoutPart, len(m.Parts))
	for i, p := range m.Parts {
		layout[i] = layoutPart{p.Type, len(p.Text), p.State}
		if p.Type == model.ImageType || p.Type == model.FileType {
			c.media = append(c.media, p.Image)
		}
	}
	if !c.isUsual(m) {
		c.layout = layout
	}
	return c
}

// usual returns the parts in the order of messages without a layout: reasoning, text or result,
// calls, images.
func (c *columns) usual(role model.Role) []model.Part {
	var parts []model.Part
	if c.reasoning != "" {
		parts = append(parts, model.ReasoningPart(c.reasoning))
	}
	if role == model.ToolRole {
		parts = append(parts, model.Part{Type: model.ResultType, Text: c.text, Call: model.Call{ID: c.callID, Name: c.name}})
	} else if c.text != "" {
		parts = append(parts, model.TextPart(c.text))
	}
	for _, call := range c.calls {
		parts = append(parts, model.CallPart(call))
	}
	return append(parts, model.ImageParts(c.media...)...)
}

func (c *columns) isUsual(m *model.Message) bool {
	usual := c.usual(m.Role)
	if len(usual) != len(m.Parts) {
		return false
	}
	for i, p := range m.Parts {
		if p.State != nil || p.Type != usual[i].Type || len(p.Text) != len(usual[i].Text) {
			return false
		}
	}
	return true
}

// parts returns the parts of a message. If the layout does not fit the contents, it returns
// [ErrDamaged].
func (c columns) parts(role model.Role) ([]model.Part, error) {
	if c.layout == nil {
		return c.usual(role), nil
	}
	parts := make([]model.Part, len(c.layout))
	for i, l := range c.layout {
		p := model.Part{Type: l.Type, State: l.State}
		fits := true
		switch l.Type {
		case model.TextType:
			p.Text, fits = cut(&c.text, l.Bytes)
		case model.ResultType:
			p.Text, fits = cut(&c.text, l.Bytes)
			p.Call = model.Call{ID: c.callID, Name: c.name}
		case model.ReasoningType:
			p.Text, fits = cut(&c.reasoning, l.Bytes)
		case model.CallType:
			p.Call, fits = shift(&c.calls)
		case model.ImageType, model.FileType:
			p.Image, fits = shift(&c.media)
		default:
			fits = false
		}
		if !fits {
			return nil, fmt.Errorf("%w: part %d of a message is not a %s of %d bytes", ErrDamaged, i+1, l.Type, l.Bytes)
		}
		parts[i] = p
	}
	if c.text != "" || c.reasoning != "" || len(c.calls) > 0 || len(c.media) > 0 {
		return nil, fmt.Errorf("%w: a message has more than its parts", ErrDamaged)
	}
	return parts, nil
}

func cut(text *string, n int) (first string, fits bool) {
	if n < 0 || n > len(*text) {
		return "", false
	}
	first, *text = (*text)[:n], (*text)[n:]
	return first, true
}

func shift[T any](list *[]T) (first T, fits bool) {
	if len(*list) == 0 {
		return first, false
	}
	first, *list = (*list)[0], (*list)[1:]
	return first, true
}
