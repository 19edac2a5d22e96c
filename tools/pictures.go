package tools

import (
	"cmp"
	"context"

	"github.com/hermes-ls/hermes-ls/internal/picture"
)

// Pictures are the limits of pictures that models get. A field that is 0 has its default.
type Pictures struct {
	MaxSide   int // pixels of the longest side
	MaxBytes  int
	MaxPixels int // before a picture is fitted
}

// Fit returns a picture that is within the limits, upright and without metadata. If the picture
// is rejected, the text of the error names the picture and says why.
func (p Pictures) Fit(ctx context.Context, name string, data []byte) (Image, error) {
	fitted, err := picture.Fit(ctx, name, data, picture.Limits{
		Side: cmp.Or(max(p.MaxSide, 0), 1568), Bytes: cmp.Or(max(p.MaxBytes, 0), 3000000), Pixels: cmp.Or(max(p.MaxPixels, 0), 50000000),
	})
	if err != nil {
		return Image{}, err
	}
	return Image{Name: name, MIMEType: fitted.MIMEType, Data: fitted.Data, Width: fitted.Width, Height: fitted.Height}, nil
}

// PictureKind returns the media type of a picture in a format that models can get, by its content, and the size that
// its header says. If data are no such picture, kind is "". If the size cannot be read, it is 0.
func PictureKind(data []byte) (kind string, width, height int) {
	if kind = picture.Kind(data); kind != "" {
		width, height, _ = picture.Size(data)
	}
	return kind, width, height
}
