// Package webpage converts the body of an HTTP response to text for a model: Markdown of the
// readable part of an HTML page, the text of a PDF, any other text unchanged.
//
// The input is untrusted, and parsers can loop or exhaust memory. So [Read] runs them in a
// separate process, this binary in a hidden mode, without an environment and with limits: no
// page can stop the server. All functions are safe for concurrent use.
//
//	p, err := webpage.Read(ctx, webpage.Source{URL: u, Type: "text/html", Body: body})
package webpage

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/hermes-ls/hermes-ls/internal/amount"
)

// Source is the response of a server.
type Source struct {
	URL  string `json:"url"`  // where it came from in the end
	Type string `json:"type"` // Content-Type, as sent; empty: by the look of it
	Body []byte `json:"-"`
}

// Page is the text of a source. It may still have control characters.
type Page struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	Error string `json:"error,omitempty"` // why there is no text; it names the type of the source
}

// textLimit bounds the text of a page, in bytes.
const textLimit = 4 << 20

// parse reads a source in this process.
func parse(s Source) Page {
	kind := kindOf(s)
	var p Page
	var err error
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		p, err = readHTML(s)
	case kind == "application/pdf":
		p, err = readPDF(s.Body)
	case textual(kind):
		p, err = readText(s)
	default:
		err = fmt.Errorf("it is %s (%s), which has no text to extract; if it is needed, download it with the terminal", kind, amount.IBytes(len(s.Body)))
	}
	if err != nil {
		return Page{Error: err.Error()}
	}
	if p.Title == "" {
		p.Title = path.Base(s.URL)
	}
	p.Title = strings.Join(strings.Fields(p.Title), " ")
	p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
	if len(p.Text) > textLimit {
		p.Text = strings.ToValidUTF8(p.Text[:textLimit], "") + "\n\n[the page goes on; this is as much of it as is read]"
	}
	return p
}

// kindOf returns the server's media type. For a PDF, or if the type is missing or unspecific, it
// uses the first bytes.
func kindOf(s Source) string {
	kind, _, err := mime.ParseMediaType(s.Type)
	vague := err != nil || kind == "application/octet-stream" || kind == "binary/octet-stream" || kind == "text/plain"
	if bytes.HasPrefix(s.Body, []byte("%PDF-")) {
		return "application/pdf"
	}
	if !vague {
		return kind
	}
	seen, _, _ := mime.ParseMediaType(http.DetectContentType(s.Body))
	if kind == "text/plain" && strings.HasPrefix(seen, "text/") {
		return kind
	}
	return seen
}

func textual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/yaml",
		"application/x-yaml", "application/toml", "application/x-sh", "application/sql", "application/graphql",
		"application/x-ndjson", "application/jsonl", "application/rtf", "message/rfc822":
		return true
	}
	return false
}

func readText(s Source) (Page, error) {
	text, err := decode(s)
	if err != nil {
		return Page{}, err
	}
	return Page{Text: strings.ReplaceAll(text, "\r\n", "\n")}, nil
}

// decode returns the body as UTF-8. It uses the encoding of the response header, a byte order mark,
// the page's declaration, or else a guess.
func decode(s Source) (string, error) {
	encoding, _, _ := charset.DetermineEncoding(s.Body, s.Type)
	text, err := encoding.NewDecoder().Bytes(s.Body)
	if err != nil {
		return "", fmt.Errorf("its text could not be decoded: %w", err)
	}
	return strings.TrimPrefix(string(text), "\uFEFF"), nil
}
