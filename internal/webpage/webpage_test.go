package webpage

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const article = "This is a paragraph, long enough for anybody to take it for the article, with commas, and words, and an end. "

func TestHTML(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(article, 6)
	for name, tc := range map[string]struct {
		html  string
		kind  string
		title string
		want  []string
		never []string
	}{
		"article": {
			html: `<html><head><title>The Title</title><script>var x = "script"</script></head><body><nav><a href="/m">Menu</a></nav>` +
				`<article><h2>Head</h2><p>` + long + `</p><pre><code class="language-go">if a &lt; b {
	return
}</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2|3</td></tr></table>` +
				`<p>See <a href="../rel?q=1#x">the <b>link</b></a> and <a href="javascript:alert(1)">this</a>.</p>` +
				`<p><img src="https://t.example/pixel.gif"><img alt="A chart" src="c.png"></p></article><footer>Imprint</footer></body></html>`,
			title: "The Title",
			want: []string{"Head", "```go\nif a < b {\n\treturn\n}\n```", "| a", `2\|3`, "[the **link**](https://example.org/rel?q=1#x)",
				"and this.", "(image: A chart)"},
			never: []string{"Menu", "script", "javascript:", "pixel.gif", "c.png", "Imprint"},
		},
		"index": {
			html:  `<title>Index</title><ul>` + strings.Repeat(`<li><a href="/a">An entry</a> one two</li>`, 40) + `</ul>`,
			title: "Index",
			want:  []string{"- [An entry](https://example.org/a) one two"},
		},
		"short page": {html: `<p>Only this.</p>`, title: "here", want: []string{"Only this."}},
		"base":       {html: `<base href="https://other.example/x/"><p>a <a href="y">b</a></p>`, title: "here", want: []string{"(https://other.example/x/y)"}},
		"latin-1":    {html: "<meta charset=iso-8859-1><p>Gr\xf6\xdfe</p>", title: "here", want: []string{"Größe"}},
		"header says": {
			html: "<p>\x82\xb1\x82\xf1</p>", kind: "text/html; charset=shift_jis", title: "here", want: []string{"こん"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := tc.kind
			if kind == "" {
				kind = "text/html"
			}
			p := parse(Source{URL: "https://example.org/docs/here", Type: kind, Body: []byte(tc.html)})
			if p.Error != "" || p.Title != tc.title {
				t.Errorf("title %q, error %q", p.Title, p.Error)
			}
			for _, want := range tc.want {
				if !strings.Contains(p.Text, want) {
					t.Errorf("%q is not in:\n%s", want, p.Text)
				}
			}
			for _, never := range tc.never {
				if strings.Contains(p.Text, never) {
					t.Errorf("%q is in:\n%s", never, p.Text)
				}
			}
		})
	}
}

func TestOtherKinds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ kind, body, text, err string }{
		"json":            {"application/json", `{"a": 1}`, `{"a": 1}`, ""},
		"problem json":    {"application/problem+json", `{}`, `{}`, ""},
		"text":            {"text/plain; charset=utf-8", "a\r\nb", "a\nb", ""},
		"bom":             {"text/plain", "\xef\xbb\xbfa", "a", ""},
		"utf-16":          {"text/plain", "\xff\xfea\x00b\x00", "ab", ""},
		"source":          {"application/octet-stream", "package main\n", "package main\n", ""},
		"no type":         {"", "hello", "hello", ""},
		"html, no type":   {"", "<!doctype html><p>hi", "hi", ""},
		"html as text":    {"text/plain", "<!doctype html><p>hi", "<!doctype html><p>hi", ""},
		"binary as text":  {"text/plain", "\x00\x01\x02\x03", "", "application/octet-stream"},
		"image":           {"image/png", "\x89PNG\r\n\x1a\n", "", "image/png (8 B)"},
		"archive":         {"application/zip", "PK\x03\x04", "", "application/zip"},
		"broken pdf":      {"application/pdf", "%PDF-1.4 nothing", "", "PDF"},
		"pdf in disguise": {"text/html", "%PDF-1.4 nothing", "", "PDF"},
		"script only":     {"text/html", "<script>go()</script>", "", "JavaScript"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := recovered(Source{URL: "https://example.org/x", Type: tc.kind, Body: []byte(tc.body)})
			if p.Text != tc.text || !strings.Contains(p.Error, tc.err) || (p.Error == "") != (tc.err == "") {
				t.Errorf("got %+v, want text %q, error %q", p, tc.text, tc.err)
			}
		})
	}
}

// TestPDFOfBrowser reads the print of a browser: fonts of two bytes.
func TestPDFOfBrowser(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/chromium.pdf")
	if err != nil {
		t.Fatal(err)
	}
	p := parse(Source{URL: "https://example.org/t.pdf", Type: "application/pdf", Body: body})
	if p.Title != "A Test Paper" || p.Error != "" {
		t.Errorf("title %q, error %q", p.Title, p.Error)
	}
	for _, want := range []string{
		"[page 1 of 1]", "On Reading PDFs\n", "The quick brown fox jumps over the lazy dog. Größe “quoted” — naïve.\n",
		"first item\n", "code: x := 1",
	} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q is not in:\n%s", want, p.Text)
		}
	}
}

// pdfOf returns a PDF with one page and one font. All its characters are half as wide as high.
func pdfOf(content string, forms ...string) []byte { return pdfWith("", content, forms...) }

// pdfWith adds settings of the page's content, such as its compression.
func pdfWith(about, content string, forms ...string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(text string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), text)
	}
	stream := func(extra, text string) {
		object(fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(text), extra, text))
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
	object("<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F 4 0 R >> /XObject << /X 6 0 R >> >> >>")
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /FirstChar 32 /LastChar 126 /Widths [" + strings.Repeat("500 ", 95) + "] >>")
	stream(about, content)
	for _, form := range forms {
		stream("/Type /XObject /Subtype /Form", form)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.Bytes()
}

func TestPDFSpaces(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ content, want string }{
		"kerned":           {`BT /F 10 Tf 0 100 Td [(A) 70 (W) -20 (AY)] TJ ET`, "AWAY"},
		"kern as space":    {`BT /F 10 Tf 0 100 Td [(two) -333 (words)] TJ ET`, "two words"},
		"placed words":     {`BT /F 10 Tf 0 100 Td (two) Tj 18 0 Td (words) Tj ET`, "two words"},
		"placed letters":   {`BT /F 10 Tf 0 100 Td (o) Tj 5 0 Td (n) Tj 5 0 Td (e) Tj ET`, "one"},
		"lines":            {`BT /F 10 Tf 12 TL 0 100 Td (one) Tj T* (two) Tj (') ' ET`, "one\ntwo\n'"},
		"paragraphs":       {`BT /F 10 Tf 0 100 Td (one) Tj 0 -30 Td (two) Tj ET`, "one\n\ntwo"},
		"matrix":           {`BT /F 1 Tf 10 0 0 10 0 100 Tm (one) Tj 10 0 0 10 18 100 Tm (two) Tj ET`, "one two"},
		"scaled page":      {`q 2 0 0 2 0 0 cm BT /F 10 Tf 0 50 Td (one) Tj 15 0 Td (two) Tj ET Q`, "onetwo"},
		"superscript":      {`BT /F 10 Tf 0 100 Td (x) Tj 5 Ts /F 6 Tf (2) Tj ET`, "x2"},
		"unbalanced Q":     {`Q Q BT /F 10 Tf 0 100 Td (one) Tj ET`, "one"},
		"form":             {`BT /F 10 Tf 0 100 Td (one) Tj ET /X Do`, "one\n\nin a form"},
		"garbage within":   {`BT /F 10 Tf 0 100 Td (one) Tj ET << /a`, "one"},
		"characters apart": {`BT /F 10 Tf 1 Tc 0 100 Td (one) Tj 18 0 Td (two) Tj ET`, "onetwo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := parse(Source{Type: "application/pdf", Body: pdfOf(tc.content, `BT /F 10 Tf 0 50 Td (in a form) Tj ET`)})
			if got := strings.TrimPrefix(p.Text, "[page 1 of 1]\n\n"); got != tc.want {
				t.Errorf("got %q (%s), want %q", got, p.Error, tc.want)
			}
		})
	}
}

// TestFormInItself checks that a form that shows itself ends.
func TestFormInItself(t *testing.T) {
	t.Parallel()
	form := `BT /F 10 Tf 0 50 Td (again) Tj ET /X Do`
	if p := parse(Source{Type: "application/pdf", Body: pdfOf(`/X Do`, form)}); !strings.Contains(p.Text, "again") {
		t.Errorf("got %+v", p)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	p, err := Read(t.Context(), Source{URL: "https://example.org/", Type: "text/html", Body: []byte("<title>T</title><p>Hello \x1b there")})
	if err != nil || p.Title != "T" || p.Error != "" || !strings.Contains(p.Text, "Hello") {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestReadBomb reads a small PDF that unpacks beyond the memory limit: only the helper process
// ends.
func TestReadBomb(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := bytes.Repeat([]byte("("), 1<<20)
	for range 128 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	body := pdfWith("/Filter /FlateDecode", packed.String())
	p, err := readWithin(t.Context(), limits{20 * time.Second, 32 << 20}, Source{Type: "application/pdf", Body: body})
	if err != nil || !strings.Contains(p.Error, "unpacks to more than") {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestReadLoop is a PDF whose table of objects comes before itself: the library
// never ends, the call does.
func TestReadLoop(t *testing.T) {
	t.Parallel()
	body := pdfOf("BT ET")
	start := bytes.LastIndex(body, []byte("xref\n0"))
	body = bytes.Replace(body, []byte("/Root 1 0 R"), fmt.Appendf(nil, "/Root 1 0 R /Prev %d", start), 1)
	p, err := readWithin(t.Context(), limits{time.Second, 256 << 20}, Source{Type: "application/pdf", Body: body})
	if err != nil || !strings.Contains(p.Error, "longer than 1s") {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestReadCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, Source{Type: "text/plain", Body: []byte("x")}); err == nil {
		t.Error("a cancelled read gave a page")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("text/html", []byte(`<p>a<table><tr><td>b</table><a href="x">c`))
	f.Add("text/html", []byte(`<svg><title><img alt=x></title></svg><form><nav><p>a</form>`))
	f.Add("text/plain", []byte("a\xff\x00b"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		if len(body) > 1<<16 || kindOf(Source{Type: kind, Body: body}) == "application/pdf" {
			return // some PDFs make the library loop; the separate process ends it
		}
		p := recovered(Source{URL: "https://example.org/a/b", Type: kind, Body: body})
		if p.Error != "" && p.Text != "" || len(p.Text) > textLimit+200 {
			t.Errorf("%d bytes of text beside %q", len(p.Text), p.Error)
		}
		if strings.Contains(p.Text, "](javascript:") && strings.Contains(kind, "html") {
			t.Errorf("a link that runs: %s", p.Text)
		}
	})
}
