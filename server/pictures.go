package server

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// FitPictures fits the pictures of a prompt of x to its limits, in place. If one is rejected, the
// error is an [InputError].
func FitPictures(ctx context.Context, x *Session, images []model.Image) error {
	for n := range images {
		i := &images[n]
		data, err := base64.StdEncoding.DecodeString(i.Data)
		if err != nil {
			return badInput("prompt", "a picture is not base64: %v", err)
		}
		fitted, err := x.location.pictures.Fit(ctx, cmp.Or(i.Name, fmt.Sprintf("image %d", n+1)), data)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return badInput("prompt", "%v", err)
		}
		i.MIMEType, i.Data = fitted.MIMEType, base64.StdEncoding.EncodeToString(fitted.Data)
	}
	return nil
}
