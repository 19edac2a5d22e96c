package api

import (
	"encoding/base64"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// TestTextOfWebP checks that the text in place of a WebP has its size.
func TestTextOfWebP(t *testing.T) {
	t.Parallel()
	webp := "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
	m := model.NewMessage(model.User, "", model.ImagePart(model.Image{Name: "a.webp", MIMEType: "image/webp", Data: base64.StdEncoding.EncodeToString([]byte(webp))}))
	x := Images{Forms: map[int]model.PictureForm{0: model.AsText}}
	if texts, _ := x.Of(0, &m); len(texts) != 1 || texts[0] != "[picture a.webp, 1 × 1: this model does not see pictures]" {
		t.Errorf("%q", texts)
	}
}
