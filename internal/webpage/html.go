package webpage

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	shortArticle = 250 // letters under which an article is considered a mistake …
	shareOfPage  = 10  // … and the minimum part of the page's letters, as a divisor
)

// readHTML gives the article of a page, or all of it where no article is found.
func readHTML(s Source) (Page, error) {
	text, err := decode(s)
	if err != nil {
		return Page{}, err
	}
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return Page{}, fmt.Errorf("its HTML cannot be read: %w", err)
	}
	base := baseOf(s.URL, doc)
	page := Page{Title: titleOf(doc)}
	content := doc
	parser := readability.NewParser()
	parser.KeepClasses = true // they name the language of code
	// It works on a copy of doc. If it returns an error, it has found nothing.
	if article, err := parser.ParseDocument(doc, base); err == nil && article.Node != nil {
		if title := article.Title(); title != "" {
			page.Title = title
		}
		if isMainPart(article.Node, doc) {
			content = article.Node
		}
	}
	tidy(content, base)
	markdown, err := markdownOf(content)
	if err != nil {
		return Page{}, fmt.Errorf("its HTML cannot be turned into text: %w", err)
	}
	page.Text = strings.TrimSpace(markdown)
	if page.Text == "" {
		return Page{}, fmt.Errorf("it shows no text without JavaScript; look for another source, or for the site's API")
	}
	return page, nil
}

// baseOf returns the base URL of links.
func baseOf(address string, doc *html.Node) *url.URL {
	here, err := url.Parse(address)
	if err != nil {
		here = &url.URL{}
	}
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Base {
			if to, err := here.Parse(attribute(n, "href")); err == nil && to.Host != "" {
				return to
			}
			break
		}
	}
	return here
}

func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == atom.Title && n.FirstChild != nil {
			return n.FirstChild.Data
		}
	}
	return ""
}

// isMainPart reports whether an article is the main part of the page. On an index or a reference
// page, the most article-like part is a small piece.
func isMainPart(article, doc *html.Node) bool {
	n := letters(article)
	return n >= shortArticle && n*shareOfPage >= letters(doc)
}

func letters(top *html.Node) (n int) {
	for node := range top.Descendants() {
		if node.Type != html.TextNode || unseen(node.Parent) {
			continue
		}
		for _, r := range node.Data {
			if !unicode.IsSpace(r) {
				n++
			}
		}
	}
	return n
}

func unseen(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head, atom.Title:
		return true
	}
	return false
}

// tidy removes useless elements from text: pictures become their description, links without a
// target become text, other links become absolute.
func tidy(top *html.Node, base *url.URL) {
	for _, n := range slices.Collect(top.Descendants()) {
		if n.Type != html.ElementNode || n.Parent == nil {
			continue
		}
		switch n.DataAtom {
		case atom.Img, atom.Svg, atom.Picture, atom.Video, atom.Audio, atom.Canvas, atom.Iframe, atom.Object, atom.Embed:
			if n.DataAtom == atom.Picture && n.FirstChild != nil {
				continue // its img speaks
			}
			describe(n)
		case atom.Script, atom.Style, atom.Template, atom.Nav, atom.Form, atom.Button, atom.Input, atom.Select, atom.Textarea:
			if n.DataAtom != atom.Form { // whole pages are forms
				n.Parent.RemoveChild(n)
			}
		case atom.A:
			link(n, base)
		}
	}
}

func describe(n *html.Node) {
	if alt := strings.Join(strings.Fields(attribute(n, "alt")), " "); alt != "" {
		n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: "(image: " + alt + ")"}, n)
	}
	n.Parent.RemoveChild(n)
}

func link(n *html.Node, base *url.URL) {
	to, err := base.Parse(attribute(n, "href"))
	useful := err == nil && (to.Scheme == "http" || to.Scheme == "https" || to.Scheme == "mailto")
	if useful && to.Host == base.Host && to.Path == base.Path && to.Fragment != "" {
		useful = false // a place on this page
	}
	n.Attr = nil
	if !useful {
		n.Data, n.DataAtom = "span", atom.Span
		return
	}
	n.Attr = []html.Attribute{{Key: "href", Val: to.String()}}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func markdownOf(n *html.Node) (string, error) {
	// A converter is cheap, and this converter is not shared.
	text, err := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(table.WithHeaderPromotion(true), table.WithSpanCellBehavior(table.SpanBehaviorMirror)),
	)).ConvertNode(n)
	return string(text), err
}
