package openai

import (
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // for the size of pictures
	_ "image/jpeg" //
	_ "image/png"  //
	"slices"
	"strings"
	"unicode"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// pictureParts encodes the pictures of a request in their order.
type pictureParts struct {
	forms  *pictureForms
	pasted int // pictures without a name so far
}

// of returns the pictures of message i, each in its form.
func (p *pictureParts) of(m *model.Message, i int) []part {
	images := m.Images()
	parts := make([]part, len(images))
	for n, picture := range images {
		name := p.nameOf(picture)
		if p.forms.forms[i] == model.AsText {
			parts[n] = part{Type: "text", Text: inText(picture, name)}
		} else {
			parts[n] = part{Type: "image_url", ImageURL: &imageURL{"data:" + picture.MIMEType + ";base64," + picture.Data}}
		}
	}
	return parts
}

// ofResults returns a user message with the pictures of the tool results that end at
// message last. The protocol does not allow pictures in a tool result. If there are none,
// it returns nil.
func (p *pictureParts) ofResults(messages []model.Message, last int) []message {
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

// nameOf returns the name of a picture for the model, without control characters. If the
// picture has no name, it gets a number.
func (p *pictureParts) nameOf(i model.Image) string {
	if i.Name == "" {
		p.pasted++
		return fmt.Sprintf("image %d", p.pasted)
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, i.Name), "")
}

// inText returns the text that replaces a picture if the model does not accept pictures.
func inText(i model.Image, name string) string {
	size, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(i.Data)))
	if err != nil {
		return fmt.Sprintf("[picture %s: this model does not see pictures]", name)
	}
	return fmt.Sprintf("[picture %s, %d × %d: this model does not see pictures]", name, size.Width, size.Height)
}
