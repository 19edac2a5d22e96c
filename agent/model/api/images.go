package api

import (
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // for the size of images
	_ "image/jpeg" //
	_ "image/png"  //
	"strings"
	"unicode"

	_ "golang.org/x/image/webp" // for the size of images

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Images converts the images of a request to their forms, in the order of the messages.
type Images struct {
	Forms  map[int]model.PictureForm // see [Target.Images]
	pasted int                       // images without a name so far
}

// Of returns, for each image of message i, the replacement text, or "" if the image is sent.
// variant is the number of this form of the message, see [Cached.Message]. Call Of once for
// each message, in their order.
func (x *Images) Of(i int, m *model.Message) (texts []string, variant int) {
	if !m.Has(model.ImageType) {
		return nil, 0
	}
	form := x.Forms[i]
	switch form {
	case model.AsText:
		variant = 1 + x.pasted
	case model.AsDescribed:
		variant = describedVariant + x.pasted
	}
	for n, image := range m.Images() {
		name, text := x.nameOf(image), ""
		switch {
		case form == model.AsDescribed && n < len(m.Described) && m.Described[n].Text != "":
			text = fmt.Sprintf("[picture %s, described by %s]\n%s", sized(image, name), m.Described[n].By, m.Described[n].Text)
		case form == model.AsText, form == model.AsDescribed:
			text = fmt.Sprintf("[picture %s: this model does not see pictures]", sized(image, name))
		}
		texts = append(texts, text)
	}
	return texts, variant
}

// describedVariant is above the variants of images without descriptions.
const describedVariant = 1 << 20

// nameOf returns the name of an image for the model, without control characters. An image
// without a name gets a number.
func (x *Images) nameOf(i model.Image) string {
	if i.Name == "" {
		x.pasted++
		return fmt.Sprintf("image %d", x.pasted)
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, i.Name), "")
}

// sized returns the name of an image with its size, if known.
func sized(i model.Image, name string) string {
	size, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(i.Data)))
	if err != nil {
		return name
	}
	return fmt.Sprintf("%s, %d × %d", name, size.Width, size.Height)
}
