package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	mostImages = 8
	shownCap   = 200_000 // bytes of a text
	imageBytes = 3 << 20 // the largest picture that every provider accepts
)

// imageTypes are the types of pictures that models accept.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// answer is a tool result for the model.
type answer struct {
	Content    string `json:"content"`
	Structured any    `json:"structured_content,omitempty"`
}

// resultOf converts a server's result to a tool result.
func resultOf(env *tools.Env, r *sdk.CallToolResult) tools.Result {
	var g gathered
	g.shown, g.sees = env.Reader.Sees != nil, env.Reader.Sees != nil && env.Reader.Sees()
	for _, c := range r.Content {
		g.add(c)
	}
	text := strings.Join(g.texts, "\n")
	if r.IsError {
		if text == "" {
			text = "the server says that it failed, and not why"
		}
		return tools.Failure(text).With(tools.Content{Text: shownOf(text)})
	}
	out := answer{Content: text, Structured: r.StructuredContent}
	if repeats(text, r.StructuredContent) {
		out.Content = ""
	}
	result := tools.OK(out)
	if text != "" {
		result = result.With(tools.Content{Text: shownOf(text)})
	}
	result.Images = g.images
	return result
}

// shownOf returns the part of a result's text that the user sees.
func shownOf(text string) string {
	if len(text) <= shownCap {
		return text
	}
	return strings.ToValidUTF8(text[:shownCap], "") + fmt.Sprintf("\n[cut here: %s of %s]", humanize.Bytes(shownCap), humanize.Bytes(uint64(len(text))))
}

// repeats reports whether text is the JSON of the structured content. Servers send both
// for clients that read only text.
func repeats(text string, structured any) bool {
	var same any
	return structured != nil && json.Unmarshal([]byte(text), &same) == nil && reflect.DeepEqual(same, structured)
}

type gathered struct {
	shown  bool // the environment can tell whether the model sees pictures, so they are kept
	sees   bool // the model gets them
	texts  []string
	images []tools.Image
}

func (g *gathered) addText(format string, a ...any) {
	g.texts = append(g.texts, fmt.Sprintf(format, a...))
}

func (g *gathered) add(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		g.texts = append(g.texts, c.Text)
	case *sdk.ImageContent:
		g.image(c.MIMEType, c.Data)
	case *sdk.AudioContent:
		g.addText("[audio, %s, %s: it cannot be heard here]", oneLine(c.MIMEType, 60), humanize.Bytes(uint64(len(c.Data))))
	case *sdk.ResourceLink:
		g.addText("[%s](%s) %s", oneLine(c.Name, 200), oneLine(c.URI, 2000), oneLine(c.Description, 500))
	case *sdk.EmbeddedResource:
		g.resource(c.Resource)
	default:
		g.addText("[content of a kind that is not known here]")
	}
}

func (g *gathered) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Text != "" || r.Blob == nil:
		g.addText("%s:\n%s", oneLine(r.URI, 2000), r.Text)
	case strings.HasPrefix(r.MIMEType, "image/"):
		g.image(r.MIMEType, r.Blob)
	default:
		g.addText("[%s: binary, %s, %s]", oneLine(r.URI, 2000), oneLine(r.MIMEType, 60), humanize.Bytes(uint64(len(r.Blob))))
	}
}

// image adds a picture, and a text that says how it is handled.
func (g *gathered) image(kind string, data []byte) {
	note := "it follows"
	switch {
	case !slices.Contains(imageTypes, kind):
		note = "it is of a kind that models do not take"
	case !g.shown:
		note = "it is not sent"
	case len(data) == 0 || len(data) > imageBytes:
		note = "too large to be shown: the limit is " + humanize.Bytes(imageBytes)
	case len(g.images) == mostImages:
		note = fmt.Sprintf("left out: there are more than %d", mostImages)
	default:
		if !g.sees {
			note = "this model does not see pictures"
		}
		g.images = append(g.images, tools.Image{MIMEType: kind, Data: data})
	}
	g.addText("[picture, %s, %s: %s]", oneLine(kind, 60), humanize.Bytes(uint64(len(data))), note)
}
