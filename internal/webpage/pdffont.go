package webpage

import (
	"strings"

	"github.com/ledongthuc/pdf"
)

// pdfFont holds the encoding and the widths of a font.
type pdfFont struct {
	encoding pdf.TextEncoding
	wide     bool            // two bytes a character
	widths   map[int]float64 // by code, in thousandths of the size
	normal   float64         // of any other code
}

func (w *pdfWriter) font(resources pdf.Value, name string) *pdfFont {
	v := resources.Key("Font").Key(name)
	key := v.String() // distinguishes fonts of forms with the same name
	if f := w.fonts[key]; f != nil {
		return f
	}
	font := pdf.Font{V: v}
	f := &pdfFont{encoding: font.Encoder(), widths: map[int]float64{}, normal: 500}
	if v.Key("Subtype").Name() == "Type0" {
		f.wide = true
		f.readWide(v.Key("DescendantFonts").Index(0))
	} else if widths := v.Key("Widths"); widths.Len() > 0 {
		scale := 1.0
		if m := v.Key("FontMatrix"); m.Len() == 6 { // a Type 3 font has its own measure
			scale = m.Index(0).Float64() * 1000
		}
		first := font.FirstChar()
		for i := range min(widths.Len(), 256) {
			f.widths[first+i] = widths.Index(i).Float64() * scale
		}
	}
	w.fonts[key] = f
	return f
}

// readWide reads the widths of a font of two bytes: `first [w w …]` and `first last w`.
func (f *pdfFont) readWide(v pdf.Value) {
	f.normal = 1000
	if dw := v.Key("DW"); !dw.IsNull() {
		f.normal = dw.Float64()
	}
	list := v.Key("W")
	for i := 0; i+1 < list.Len(); {
		first := int(list.Index(i).Int64())
		if each := list.Index(i + 1); each.Kind() == pdf.Array {
			for j := range min(each.Len(), 1<<16) {
				f.widths[first+j] = each.Index(j).Float64()
			}
			i += 2
			continue
		}
		last, width := int(list.Index(i+1).Int64()), list.Index(i+2).Float64()
		for code := first; code <= min(last, 1<<16); code++ {
			f.widths[code] = width
		}
		i += 3
	}
}

func (f *pdfFont) decode(raw string) string {
	text := f.encoding.Decode(raw)
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1 // a code unknown to the font
		}
		return r
	}, text)
}

func (f *pdfFont) count(raw string) int {
	if f.wide {
		return len(raw) / 2
	}
	return len(raw)
}

// width returns the width of a text, in units of the size.
func (f *pdfFont) width(raw string) (sum float64) {
	for i := 0; i < len(raw); i++ {
		code := int(raw[i])
		if f.wide {
			if i++; i == len(raw) {
				break
			}
			code = code<<8 | int(raw[i])
		}
		if w, ok := f.widths[code]; ok {
			sum += w
		} else {
			sum += f.normal
		}
	}
	return sum / 1000
}
