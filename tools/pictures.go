package tools

import (
	"cmp"
	"context"

	"github.com/hermes-ls/hermes-ls/internal/picture"
)

// Pictures are the limits of pictures sent to models. A zero field means its default.
type Pictures struct {
	MaxSide   int // pixels of the longest side
	MaxBytes  int
	MaxPixels int // before a picture is fitted
}

// Fit returns an upright picture within the limits, without metadata. If it rejects the picture,
// the error names the picture and the reason.
func (p Pictures) Fit(ctx context.Context, name string, data []byte) (Image, error) {
	fitted, err := picture.Fit(ctx, name, data, picture.Limits{
		Side: cmp.Or(max(p.MaxSide, 0), 1568), Bytes: cmp.Or(max(p.MaxBytes, 0), 3000000), Pixels: cmp.Or(max(p.MaxPixels, 0), 50000000),
	})
	if err != nil {
		return Image{}, err
	}
	return Image{Name: name, MIMEType: fitted.MIMEType, Data: fitted.Data, Width: fitted.Width, Height: fitted.Height}, nil
}

// PictureKind returns the media type and size of a picture in a format for models. The type comes
// from its content, the size from its header. For other data, kind is "". If the size cannot be
// read, it is 0.
func PictureKind(data []byte) (kind string, width, height int) {
	if kind = picture.Kind(data); kind != "" {
		width, height, _ = picture.Size(data)
	}
	return kind, width, height
}
