package api

import (
	"encoding/base64"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// TestTextOfWebP checks the text in place of a WebP: it contains the size.
func TestTextOfWebP(t *testing.T) {
	t.Parallel()
	webp := "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
	m := model.NewMessage(model.User, "", model.ImagePart(model.Image{Name: "a.webp", MIMEType: "image/webp", Data: base64.StdEncoding.EncodeToString([]byte(webp))}))
	x := Images{Forms: map[int]model.PictureForm{0: model.AsText}}
	if texts, _ := x.Of(0, &m); len(texts) != 1 || texts[0] != "[picture a.webp, 1 × 1: this model does not see pictures]" {
		t.Errorf("%q", texts)
	}
}

// TestDescribedImages checks the texts of described images. If the description failed, there is
// none.
func TestDescribedImages(t *testing.T) {
	t.Parallel()
	picture := func(name string) model.Image { return model.Image{Name: name, MIMEType: "image/png", Data: "AAAA"} }
	m := model.NewMessage(model.User, "", model.ImageParts(picture("a.png"), picture("b.png"))...)
	m.Described = []model.Description{{By: "eyes", Text: "A cat."}, {By: "eyes"}}
	described := Images{Forms: map[int]model.PictureForm{0: model.AsDescribed}}
	texts, variant := described.Of(0, &m)
	if len(texts) != 2 || texts[0] != "[picture a.png, described by eyes]\nA cat." || texts[1] != "[picture b.png: this model does not see pictures]" {
		t.Errorf("%q", texts)
	}
	plain := Images{Forms: map[int]model.PictureForm{0: model.AsText}}
	if _, other := plain.Of(0, &m); other == variant {
		t.Errorf("both forms have the variant %d", variant)
	}
}
