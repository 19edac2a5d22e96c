package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// source is a picture to fit.
type source struct {
	kind   string
	data   []byte
	clean  []byte // data without metadata; nil: the picture must be encoded again
	exif   []byte // nil: it has none
	config image.Config
}

// Kind returns the media type of a picture in a supported format, by its first bytes. For anything
// else, it returns "".
func Kind(data []byte) string {
	has := func(prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }
	switch {
	case has("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case has("\xff\xd8\xff"):
		return "image/jpeg"
	case has("GIF8"):
		return "image/gif"
	case has("RIFF") && len(data) > 12 && string(data[8:12]) == "WEBP":
		return "image/webp"
	case has("BM"):
		return "image/bmp"
	case has("II*\x00"), has("MM\x00*"):
		return "image/tiff"
	default:
		return ""
	}
}

// Size returns the size in the header of a picture. It decodes no pixels. If the header cannot be
// read, ok is false.
func Size(data []byte) (width, height int, ok bool) {
	defer func() {
		if recover() != nil { // the libraries can panic on broken input
			ok = false
		}
	}()
	s, err := read(data)
	return s.config.Width, s.config.Height, err == nil
}

// read reads the header of a picture.
func read(data []byte) (s source, err error) {
	s.data = data
	from := func() *bytes.Reader { return bytes.NewReader(s.data) }
	switch s.kind = Kind(data); s.kind {
	case "image/png":
		s.clean, s.exif = cleanPNG(data)
		s.config, err = png.DecodeConfig(from())
	case "image/jpeg":
		s.clean, s.exif = cleanJPEG(data)
		s.config, err = jpeg.DecodeConfig(from())
	case "image/gif":
		s.config, err = gif.DecodeConfig(from())
	case "image/webp":
		s.data, s.clean, s.exif = firstFrame(data)
		if s.config, err = webp.DecodeConfig(from()); err == nil {
			err = s.enlarge(codedWebP(s.data))
		}
	case "image/bmp":
		s.config, err = bmp.DecodeConfig(from())
	case "image/tiff":
		s.exif = data
		s.config, err = tiff.DecodeConfig(from())
	default:
		return s, errFormat
	}
	if err != nil || s.config.Width <= 0 || s.config.Height <= 0 {
		return s, errBroken
	}
	return s, nil
}

// enlarge sets the size to the coded pixels' of a WebP, if larger: the header before them can be
// smaller.
func (s *source) enlarge(coded []byte) error {
	size, err := webp.DecodeConfig(bytes.NewReader(coded))
	s.config.Width, s.config.Height = max(s.config.Width, size.Width), max(s.config.Height, size.Height)
	return err
}

// decode decodes a picture, or its first frame.
func (s *source) decode() (image.Image, error) {
	from := bytes.NewReader(s.data)
	switch s.kind {
	case "image/png":
		return png.Decode(from)
	case "image/jpeg":
		return jpeg.Decode(from)
	case "image/gif":
		return gif.Decode(from)
	case "image/webp":
		return webp.Decode(from)
	case "image/bmp":
		return bmp.Decode(from)
	default:
		return tiff.Decode(from)
	}
}

// fit fits a picture in this process. Its errors complete the sentence “NAME …”.
func fit(data []byte, limits Limits) (Picture, error) {
	s, err := read(data)
	if err != nil {
		return Picture{}, err
	}
	if s.config.Height > limits.Pixels/s.config.Width {
		return Picture{}, tooLarge(s.config.Width, s.config.Height, limits.Pixels)
	}
	decoded, err := s.decode()
	if err != nil {
		return Picture{}, errBroken
	}
	size := decoded.Bounds().Size()
	if size.X <= 0 || size.Y <= 0 {
		return Picture{}, errBroken
	}
	turn := orientation(s.exif)
	if turn == 1 && s.clean != nil && max(size.X, size.Y) <= limits.Side && len(s.clean) <= limits.Bytes {
		return Picture{MIMEType: s.kind, Width: size.X, Height: size.Y, Data: s.clean}, nil
	}
	side := min(max(size.X, size.Y), limits.Side)
	for {
		small := upright(scaled(decoded, side), turn)
		p, err := encode(small, s.kind == "image/jpeg", limits.Bytes)
		if err != nil || p.Data != nil || side == 1 {
			return p, err
		}
		side = max(side/2, 1)
	}
}

// encode encodes a picture as a PNG within limit, else as a JPEG; with asJPEG, only as a JPEG. If
// no JPEG is within the limit, the data are nil.
func encode(m *image.RGBA, asJPEG bool, limit int) (Picture, error) {
	p := Picture{Width: m.Rect.Dx(), Height: m.Rect.Dy()}
	var b bytes.Buffer
	for _, level := range []png.CompressionLevel{png.BestSpeed, png.DefaultCompression} { // the second takes three times as long
		if asJPEG {
			break
		}
		b.Reset()
		if err := (&png.Encoder{CompressionLevel: level}).Encode(&b, m); err != nil {
			return p, errBroken
		}
		if b.Len() <= limit {
			p.MIMEType, p.Data = "image/png", b.Bytes()
			return p, nil
		}
	}
	p.MIMEType = "image/jpeg"
	flat := image.NewRGBA(m.Rect) // a JPEG has no transparency
	draw.Draw(flat, flat.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(flat, flat.Rect, m, m.Rect.Min, draw.Over)
	for _, quality := range []int{85, 70, 55} {
		b.Reset()
		if err := jpeg.Encode(&b, flat, &jpeg.Options{Quality: quality}); err != nil {
			return p, errBroken
		}
		if b.Len() <= limit {
			p.Data = b.Bytes()
			return p, nil
		}
	}
	return p, nil
}

// scaled returns a picture whose longest side has side pixels. Each pixel is the mean of the pixels
// it covers. It processes a row at a time, because converting the whole picture needs too much
// memory.
func scaled(src image.Image, side int) *image.RGBA {
	from := src.Bounds()
	w, h := from.Dx(), from.Dy()
	longest := max(w, h)
	dw, dh := max(w*side/longest, 1), max(h*side/longest, 1)
	dst := image.NewRGBA(image.Rect(0, 0, dw, dh))
	if dw == w && dh == h {
		draw.Draw(dst, dst.Rect, src, from.Min, draw.Src)
		return dst
	}
	row := image.NewRGBA(image.Rect(0, 0, w, 1))
	narrow, sum := make([]float32, dw*4), make([]float32, dw*4)
	share := float32(dh) / float32(h) // of a row in a row of dst
	for y, out := 0, 0; y < h; y++ {
		draw.Draw(row, row.Rect, src, image.Pt(from.Min.X, from.Min.Y+y), draw.Src)
		narrowRow(narrow, row.Pix, dw, w)
		end := (y + 1) * dh // in parts of 1/h of a row of dst
		part := share
		if next := (out + 1) * h; end >= next { // the row of dst ends in this row
			rest := float32(end-next) / float32(h)
			add(sum, narrow, part-rest)
			store(dst.Pix[out*dst.Stride:], sum)
			clear(sum)
			part, out = rest, out+1
		}
		if out < dh {
			add(sum, narrow, part)
		}
	}
	return dst
}

// narrowRow writes the means of a row of w pixels to dw pixels.
func narrowRow(dst []float32, src []uint8, dw, w int) {
	clear(dst)
	share := float32(dw) / float32(w)
	for x, out := 0, 0; x < w; x++ {
		pixel := src[x*4 : x*4+4]
		part := share
		if end, next := (x+1)*dw, (out+1)*w; end >= next {
			rest := float32(end-next) / float32(w)
			for c, v := range pixel {
				dst[out*4+c] += float32(v) * (part - rest)
			}
			part, out = rest, out+1
		}
		if out < dw {
			for c, v := range pixel {
				dst[out*4+c] += float32(v) * part
			}
		}
	}
}

func add(sum, row []float32, part float32) {
	for i, v := range row {
		sum[i] += v * part
	}
}

func store(dst []uint8, sum []float32) {
	for i, v := range sum {
		dst[i] = uint8(min(max(v+0.5, 0), 255))
	}
}

// upright applies an orientation of EXIF, from 1 to 8.
func upright(m *image.RGBA, turn int) *image.RGBA {
	if turn <= 1 || turn > 8 {
		return m
	}
	w, h := m.Rect.Dx(), m.Rect.Dy()
	dw, dh := w, h
	if turn >= 5 {
		dw, dh = h, w
	}
	dst := image.NewRGBA(image.Rect(0, 0, dw, dh))
	for y := range dh {
		for x := range dw {
			sx, sy := x, y
			if turn >= 5 { // the rows are columns
				sx, sy = y, x
			}
			switch turn {
			case 2:
				sx = w - 1 - sx
			case 3, 7:
				sx, sy = w-1-sx, h-1-sy
			case 4, 6:
				sy = h - 1 - sy
			case 8:
				sx = w - 1 - sx
			}
			copy(dst.Pix[dst.PixOffset(x, y):][:4], m.Pix[m.PixOffset(sx, sy):][:4])
		}
	}
	return dst
}
