package picture_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/internal/picture"
)

func TestMain(m *testing.M) {
	modes.Enter()
	os.Exit(m.Run())
}

var limits = picture.Limits{Side: 40, Bytes: 100000, Pixels: 50000000}

// quarters returns a blue picture with a red upper left quarter.
func quarters(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{B: 255, A: 255}
			if x < w/2 && y < h/2 {
				c = color.RGBA{R: 255, A: 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

func encoded(t *testing.T, m image.Image, kind string) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: 95})
	case "gif":
		err = gif.Encode(&b, m, nil)
	case "bmp":
		err = bmp.Encode(&b, m)
	case "tiff":
		err = tiff.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// segment returns a JPEG with a segment after its first two bytes.
func segment(data []byte, marker byte, body string) []byte {
	out := append([]byte{}, data[:2]...)
	out = append(out, 0xff, marker, byte((len(body)+2)>>8), byte(len(body)+2))
	return append(append(out, body...), data[2:]...)
}

// exif returns EXIF data with an orientation and a text in place of the location.
func exif(turn byte) string {
	return "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string([]byte{turn}) + "\x00\x00\x00\x00\x00\x00GPS 52.5 N"
}

// chunk returns a PNG with a chunk after its header.
func chunk(data []byte, name, body string) []byte {
	const header = 8 + 25
	out := append([]byte{}, data[:header]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
	out = append(append(out, name...), body...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE([]byte(name+body)))
	return append(out, data[header:]...)
}

func fit(t *testing.T, data []byte, l picture.Limits) (picture.Picture, image.Image) {
	t.Helper()
	p, err := picture.Fit(t.Context(), "a.x", data, l)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	if size := m.Bounds().Size(); size.X != p.Width || size.Y != p.Height {
		t.Errorf("the size is %v, not %d × %d", size, p.Width, p.Height)
	}
	return p, m
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"png": "image/png", "jpeg": "image/jpeg", "gif": "image/png", "bmp": "image/png", "tiff": "image/png"} {
		small := encoded(t, quarters(40, 20), kind)
		p, _ := fit(t, small, limits)
		if p.MIMEType != want || p.Width != 40 || p.Height != 20 {
			t.Errorf("%s: %s, %d × %d", kind, p.MIMEType, p.Width, p.Height)
		}
		if kept := bytes.Equal(p.Data, small); kept != (kind == "png" || kind == "jpeg") {
			t.Errorf("%s: kept is %v", kind, kept)
		}
		p, m := fit(t, encoded(t, quarters(130, 260), kind), limits)
		if p.MIMEType != want || p.Width != 20 || p.Height != 40 {
			t.Errorf("%s: %s, %d × %d", kind, p.MIMEType, p.Width, p.Height)
		}
		if !red(m.At(2, 2)) || red(m.At(17, 2)) || red(m.At(2, 37)) || red(m.At(17, 37)) {
			t.Errorf("%s: the scaled picture is another one: %v %v %v %v", kind, m.At(2, 2), m.At(17, 2), m.At(2, 37), m.At(17, 37))
		}
	}
}

func red(c color.Color) bool {
	r, _, b, _ := c.RGBA()
	return r > b
}

// TestOrientation checks the position of the red quarter for each EXIF orientation, and the removal
// of the location.
func TestOrientation(t *testing.T) {
	t.Parallel()
	corners := map[byte]image.Point{1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 5: {0, 0}, 6: {1, 0}, 7: {1, 1}, 8: {0, 1}}
	for turn, corner := range corners {
		data := segment(encoded(t, quarters(64, 32), "jpeg"), 0xe1, exif(turn))
		p, m := fit(t, data, picture.Limits{Side: 64, Bytes: 100000, Pixels: 1000000})
		w, h := 64, 32
		if turn >= 5 {
			w, h = h, w
		}
		if p.MIMEType != "image/jpeg" || p.Width != w || p.Height != h || bytes.Contains(p.Data, []byte("GPS")) {
			t.Errorf("orientation %d: %s, %d × %d", turn, p.MIMEType, p.Width, p.Height)
		}
		for _, c := range []image.Point{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
			if got := red(m.At(w/4+c.X*w/2, h/4+c.Y*h/2)); got != (c == corner) {
				t.Errorf("orientation %d: red at %v is %v", turn, c, got)
			}
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	for kind, with := range map[string]func([]byte, string) []byte{
		"png":  func(data []byte, text string) []byte { return append(chunk(data, "tEXt", "Place\x00"+text), text...) },
		"jpeg": func(data []byte, text string) []byte { return append(segment(data, 0xfe, text), text...) },
	} {
		plain := encoded(t, quarters(20, 20), kind)
		p, _ := fit(t, with(plain, "GPS 52.5 N"), limits)
		if !bytes.Equal(p.Data, plain) {
			t.Errorf("%s: it is not the picture without metadata", kind)
		}
	}
}

// TestBytes checks that a picture in another format becomes a JPEG if its PNG is too large.
func TestBytes(t *testing.T) {
	t.Parallel()
	noisy := image.NewNRGBA(image.Rect(0, 0, 200, 200))
	state := uint32(1)
	for i := range noisy.Pix {
		state = state*1664525 + 1013904223
		noisy.Pix[i] = byte(state >> 24)
	}
	for _, limit := range []int{60000, 3000} {
		p, _ := fit(t, encoded(t, noisy, "png"), picture.Limits{Side: 400, Bytes: limit, Pixels: 1000000})
		if p.MIMEType != "image/jpeg" || len(p.Data) > limit {
			t.Errorf("limit %d: %s of %d bytes", limit, p.MIMEType, len(p.Data))
		}
	}
}

// TestRejected checks rejected pictures: by their header alone, or because they are broken.
func TestRejected(t *testing.T) {
	t.Parallel()
	bomb := encoded(t, image.NewGray(image.Rect(0, 0, 1, 1)), "png")[:33]
	binary.BigEndian.PutUint32(bomb[16:], 12000)
	binary.BigEndian.PutUint32(bomb[20:], 10000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	whole := encoded(t, quarters(40, 20), "png")
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"bomb":   {bomb, "screenshot.png has 120 megapixels; the limit is 50. Crop it first"},
		"cut":    {whole[:len(whole)-30], "screenshot.png cannot be decoded: it is broken"},
		"header": {whole[:20], "screenshot.png cannot be decoded: it is broken"},
		"other":  {[]byte("<svg/>"), "screenshot.png is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are"},
		"empty":  {nil, "screenshot.png is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are"},
	} {
		_, err := picture.Fit(t.Context(), "screenshot.png", tc.data, limits)
		var rejected *picture.Error
		if !errors.As(err, &rejected) || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := picture.Fit(ctx, "a.png", whole, limits); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}

// TestWebP checks a WebP, and the first frame of an animation.
func TestWebP(t *testing.T) {
	t.Parallel()
	// A single lossless pixel: the smallest WebP.
	vp8l := "VP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
	riff := func(chunks string) []byte {
		return fmt.Appendf(nil, "RIFF%sWEBP%s", string(binary.LittleEndian.AppendUint32(nil, uint32(len(chunks)+4))), chunks)
	}
	still := riff(vp8l)
	if p, err := picture.Fit(t.Context(), "a.webp", still, limits); err != nil || p.MIMEType != "image/webp" || !bytes.Equal(p.Data, still) {
		t.Errorf("still: %s, %v", p.MIMEType, err)
	}
	frame := strings.Repeat("\x00", 16) + vp8l
	header := "VP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	anmf := "ANMF" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(frame)))) + frame
	p, err := picture.Fit(t.Context(), "a.webp", riff(header+"ANIM\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00"+anmf+anmf), limits)
	if err != nil || p.MIMEType != "image/png" || p.Width != 1 {
		t.Errorf("animated: %+v, %v", p, err)
	}
}

// TestWebPSize checks that the size of the coded pixels decides, not the header's.
func TestWebPSize(t *testing.T) {
	t.Parallel()
	chunk := func(name, body string) string {
		return name + string(binary.LittleEndian.AppendUint32(nil, uint32(len(body)))) + body
	}
	riff := func(chunks string) []byte {
		return []byte("RIFF" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(chunks)+4))) + "WEBP" + chunks)
	}
	header := chunk("VP8X", strings.Repeat("\x00", 10))                                           // 1 × 1
	lossless := chunk("VP8L", "\x2f\xff\xff\xff\x0f"+strings.Repeat("\x00", 11))                  // 16384 × 16384
	lossy := chunk("VP8 ", "\x10\x20\x00\x9d\x01\x2a\xff\x3f\xff\x3f"+strings.Repeat("\x00", 40)) // 16383 × 16383
	animated := chunk("ANMF", strings.Repeat("\x00", 16)+lossless)
	for name, data := range map[string][]byte{"lossless": riff(header + lossless), "lossy": riff(header + lossy), "animated": riff(header + animated)} {
		_, err := picture.Fit(t.Context(), "a.webp", data, limits)
		if err == nil || !strings.Contains(err.Error(), " megapixels; the limit is 50. Crop it first") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"png", "jpeg", "gif", "bmp", "tiff"} {
		data := encoded(t, quarters(40, 20), kind)
		if w, h, ok := picture.Size(data); w != 40 || h != 20 || !ok || picture.Kind(data) != "image/"+kind {
			t.Errorf("%s: %d × %d, %v, %s", kind, w, h, ok, picture.Kind(data))
		}
	}
	if _, _, ok := picture.Size([]byte("II*\x00")); ok {
		t.Error("a broken picture has a size")
	}
}
