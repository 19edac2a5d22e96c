package webpage

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

const (
	pageLimit = 2000 // maximum number of pages
	formDepth = 8    // forms within forms
)

// readPDF returns the text of each page in painting order, which for nearly all PDF writers is the
// reading order.
func readPDF(body []byte) (Page, error) {
	doc, err := pdf.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return Page{}, fmt.Errorf("it is a PDF that cannot be read (%w); it may be encrypted or damaged", err)
	}
	pages := doc.NumPage()
	var b strings.Builder
	for i := 1; i <= min(pages, pageLimit) && b.Len() < textLimit; i++ {
		if text := pageText(doc.Page(i)); text != "" {
			fmt.Fprintf(&b, "[page %d of %d]\n\n%s\n\n", i, pages, text)
		}
	}
	if b.Len() == 0 {
		return Page{}, fmt.Errorf("it is a PDF of %d pages without text: they are pictures, or its fonts do not say what they mean", pages)
	}
	return Page{Title: doc.Trailer().Key("Info").Key("Title").Text(), Text: strings.TrimSpace(b.String())}, nil
}

// pageText returns the readable text of a page. A broken page does not affect others.
func pageText(p pdf.Page) (text string) {
	w := &pdfWriter{fonts: map[string]*pdfFont{}}
	defer func() {
		_ = recover() // the library panics on unknown input
		text = strings.TrimSpace(ligatures.Replace(w.text.String()))
	}()
	w.show(p.V.Key("Contents"), p.Resources(), identity, 0)
	return ""
}

// Old typesetters write these as a single character.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "\u00ad", "")

// matrix is a transformation: a b c d e f of the PDF standard.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func moved(x, y float64) matrix { return matrix{1, 0, 0, 1, x, y} }

// pdfWriter follows the pen over a page, and writes a space or a new line where
// it jumps: many PDFs hold no spaces.
type pdfWriter struct {
	text  strings.Builder
	fonts map[string]*pdfFont

	begun      bool
	endX, endY float64 // where the last text ended
	size       float64 // its height
}

// pen is the text state of the PDF standard.
type pen struct {
	page       matrix // from user space to the page
	font       *pdfFont
	size       float64
	charSpace  float64
	wordSpace  float64
	scale      float64
	leading    float64
	matrix     matrix // of the text
	lineMatrix matrix
}

// show plays the operators of a page or a form.
func (w *pdfWriter) show(content, resources pdf.Value, page matrix, depth int) {
	p := pen{page: page, scale: 1, matrix: identity, lineMatrix: identity}
	var saved []pen
	pdf.Interpret(content, func(stack *pdf.Stack, op string) {
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		number := func(i int) float64 {
			if i < len(args) {
				return args[i].Float64()
			}
			return 0
		}
		switch op {
		case "q":
			saved = append(saved, p)
		case "Q":
			if n := len(saved); n > 0 {
				p, saved = saved[n-1], saved[:n-1]
			}
		case "cm":
			p.page = matrix{number(0), number(1), number(2), number(3), number(4), number(5)}.times(p.page)
		case "BT":
			p.matrix, p.lineMatrix = identity, identity
		case "Tc":
			p.charSpace = number(0)
		case "Tw":
			p.wordSpace = number(0)
		case "Tz":
			p.scale = number(0) / 100
		case "TL":
			p.leading = number(0)
		case "Tf":
			if len(args) == 2 {
				p.font, p.size = w.font(resources, args[0].Name()), number(1)
			}
		case "Tm":
			p.matrix = matrix{number(0), number(1), number(2), number(3), number(4), number(5)}
			p.lineMatrix = p.matrix
		case "Td":
			p.down(number(0), number(1))
		case "TD":
			p.leading = -number(1)
			p.down(number(0), number(1))
		case "T*":
			p.down(0, -p.leading)
		case "Tj", "'", "\"":
			if op == "\"" {
				p.wordSpace, p.charSpace = number(0), number(1)
			}
			if op != "Tj" {
				p.down(0, -p.leading)
			}
			if len(args) > 0 {
				w.write(&p, args[len(args)-1].RawString())
			}
		case "TJ":
			if len(args) == 1 {
				w.writeAll(&p, args[0])
			}
		case "Do":
			if len(args) == 1 && depth < formDepth {
				w.form(resources.Key("XObject").Key(args[0].Name()), resources, p.page, depth)
			}
		}
	})
}

// form writes content stored apart from the page.
func (w *pdfWriter) form(x, resources pdf.Value, page matrix, depth int) {
	if x.Key("Subtype").Name() != "Form" {
		return
	}
	if own := x.Key("Resources"); !own.IsNull() {
		resources = own
	}
	if m := x.Key("Matrix"); m.Len() == 6 {
		var at matrix
		for i := range at {
			at[i] = m.Index(i).Float64()
		}
		page = at.times(page)
	}
	w.show(x, resources, page, depth+1)
}

func (p *pen) down(x, y float64) {
	p.lineMatrix = moved(x, y).times(p.lineMatrix)
	p.matrix = p.lineMatrix
}

func (w *pdfWriter) writeAll(p *pen, list pdf.Value) {
	for i := range list.Len() {
		if x := list.Index(i); x.Kind() == pdf.String {
			w.write(p, x.RawString())
		} else {
			p.matrix = moved(-x.Float64()/1000*p.size*p.scale, 0).times(p.matrix)
		}
	}
}

// write puts a piece of text where the pen is, and moves the pen.
func (w *pdfWriter) write(p *pen, raw string) {
	if p.font == nil || w.text.Len() > textLimit {
		return
	}
	at := p.matrix.times(p.page)
	size := p.size * math.Hypot(at[2], at[3])
	w.gap(at[4], at[5], size)
	w.text.WriteString(p.font.decode(raw))
	width := p.font.width(raw) * p.size
	width += p.charSpace*float64(p.font.count(raw)) + p.wordSpace*float64(strings.Count(raw, " "))
	p.matrix = moved(width*p.scale, 0).times(p.matrix)
	end := p.matrix.times(p.page)
	w.endX, w.endY, w.size, w.begun = end[4], end[5], size, true
}

// gap writes the white space for a jump of the pen.
func (w *pdfWriter) gap(x, y, size float64) {
	if !w.begun {
		return
	}
	em := max(min(size, w.size), 0.1)
	switch drop, along := math.Abs(y-w.endY), x-w.endX; {
	case drop > 1.9*max(size, w.size):
		w.separate("\n\n")
	case drop > 0.55*em, along < -1.5*em:
		w.separate("\n")
	case along > 0.14*em:
		w.separate(" ")
	}
}

func (w *pdfWriter) separate(by string) {
	text := w.text.String()
	if text == "" || strings.HasSuffix(text, "\n") || by == " " && strings.HasSuffix(text, " ") {
		return
	}
	w.text.WriteString(by)
}
