package file

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/tools"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

const (
	sniffSizeBytes = 8 << 20  // maximum size of binary files to examine
	imageBytes     = 64 << 20 // the largest picture file to read
)

// readBinary describes a binary file, and passes a picture to a model with vision.
func readBinary(ctx context.Context, env *callEnv, w *workspace.Window, name string) tools.Result {
	kind := mime.TypeByExtension(filepath.Ext(w.Path))
	var data []byte
	if w.Size <= sniffSizeBytes || w.Size <= imageBytes && strings.HasPrefix(kind, "image/") {
		if f, err := env.Files.Read(ctx, w.Path); err == nil {
			data = f.Text
		}
	}
	if sniffed := http.DetectContentType(data); sniffed != "application/octet-stream" && !strings.HasPrefix(sniffed, "text/") {
		kind = sniffed
	}
	known, width, height := tools.PictureKind(data)
	kind = cmp.Or(known, kind)
	out := readOut{Content: "binary file, " + amount.Bytes(w.Size), FileSize: w.Size}
	if kind != "" {
		out.Content += ", " + kindName(kind)
	}
	if width > 0 {
		out.Content += fmt.Sprintf(", %d × %d pixels", width, height)
	}
	if !strings.HasPrefix(kind, "image/") || strings.HasPrefix(kind, "image/svg") || env.Reader.Sees == nil { // nil: a script
		return tools.OK(out)
	}
	if len(data) == 0 {
		out.Note = fmt.Sprintf("too large to be shown: the limit is %s", amount.Bytes(imageBytes))
		return tools.OK(out)
	}
	fitted, err := env.Bounds.Pictures.Fit(ctx, name, data)
	if err != nil {
		return tools.Fail("%v", err)
	}
	out.Note = "the picture follows"
	if !env.Reader.Sees() {
		out.Note = "the picture follows as text, because this model does not see pictures"
	}
	r := tools.OK(out)
	r.Images = []tools.Image{fitted}
	return r
}

// ReadPicture returns the bytes of a file, which may be a picture, by the rules of read_file.
func ReadPicture(ctx context.Context, b tools.Bounds, env *tools.Env, path string) (data []byte, abs string, err error) {
	e, done := onOutputs(&callEnv{env, Config{Bounds: b}}, path)
	defer done()
	if abs, err = e.Files.Abs(path); err != nil {
		return nil, "", err
	}
	info, err := e.Files.Stat(ctx, path)
	switch {
	case err != nil:
		return nil, "", err
	case info.IsDir():
		return nil, "", fmt.Errorf("%s is a directory", path)
	case info.Size() > imageBytes:
		return nil, "", fmt.Errorf("%s is too large: the limit is %s", path, amount.Bytes(imageBytes))
	}
	f, err := e.Files.Read(ctx, path)
	if err != nil {
		return nil, "", err
	}
	return f.Text, abs, nil
}

// kindName words a media type: image/png is a PNG image.
func kindName(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	family, format, _ := strings.Cut(kind, "/")
	switch family {
	case "image", "audio", "video", "font":
		return strings.ToUpper(strings.TrimPrefix(format, "x-")) + " " + family
	}
	return kind
}
