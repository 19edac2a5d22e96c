package openai

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// imageParts encodes the images of a request in their order.
type imageParts struct{ api.Images }

// of returns the images of message i, each in its form.
func (p *imageParts) of(m *model.Message, i int) []part {
	texts, _ := p.Of(i, m)
	parts := make([]part, len(texts))
	for n, image := range m.Images() {
		if texts[n] != "" {
			parts[n] = part{Type: "text", Text: texts[n]}
		} else {
			parts[n] = part{Type: "image_url", ImageURL: &imageURL{"data:" + image.MIMEType + ";base64," + image.Data}}
		}
	}
	return parts
}

// ofResults returns a user message with the pictures of the tool results that end at
// message last. The protocol does not allow pictures in a tool result. If there are none,
// it returns nil.
func (p *imageParts) ofResults(messages []model.Message, last int) []message {
	first := last + 1
	for first > 0 && messages[first-1].Role == model.ToolRole {
		first--
	}
	var parts []part
	for i := first; i <= last; i++ {
		parts = append(parts, p.of(&messages[i], i)...)
	}
	if len(parts) == 0 {
		return nil
	}
	text := ""
	if slices.ContainsFunc(parts, func(p part) bool { return p.ImageURL != nil }) {
		text = picturesText
	}
	return []message{{Role: string(model.User), Content: content(text, parts)}}
}

const picturesText = "(What the tools have read, as pictures, in the order of the calls.)"

// content returns text followed by parts. If all parts are text, it returns one string,
// because some endpoints do not accept a list.
func content(text string, parts []part) any {
	all := parts
	if text != "" {
		all = append([]part{{Type: "text", Text: text}}, parts...)
	}
	texts := make([]string, 0, len(all))
	for _, p := range all {
		if p.ImageURL != nil {
			return all
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}
