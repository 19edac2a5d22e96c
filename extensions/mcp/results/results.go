// Package results converts results of servers to tool results.
package results

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/clean"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	mostImages = 8
	shownCap   = 200_000 // bytes of a text
)

// answer is a tool result for the model.
type answer struct {
	Content    string `json:"content"`
	Structured any    `json:"structured_content,omitempty"`
}

// Of converts a server's result to a tool result. Its pictures are fitted to the limits.
func Of(ctx context.Context, env *tools.Env, limits tools.Pictures, r *sdk.CallToolResult) tools.Result {
	g := gather(ctx, env, limits)
	for _, c := range r.Content {
		g.add(c)
	}
	text := strings.Join(g.texts, "\n")
	if r.IsError {
		if text == "" && r.StructuredContent != nil {
			if data, err := tools.Marshal(r.StructuredContent); err == nil {
				text = string(data)
			}
		}
		if text == "" {
			text = "the server says that it failed, and not why"
		}
		result := tools.Failure(text).With(tools.Content{Text: shownOf(text)})
		result.Images = g.images
		return result
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

// shownOf returns the part of a result's text visible to the user.
func shownOf(text string) string {
	if len(text) <= shownCap {
		return text
	}
	return strings.ToValidUTF8(text[:shownCap], "") + fmt.Sprintf("\n[cut here: %s of %s]", amount.Bytes(shownCap), amount.Bytes(len(text)))
}

// repeats reports whether text is the JSON of the structured content. Servers send both for clients
// without structured content.
func repeats(text string, structured any) bool {
	var same any
	return structured != nil && json.Unmarshal([]byte(text), &same) == nil && reflect.DeepEqual(same, structured)
}

// Contents returns the text of a resource, and its pictures, fitted to the limits.
func Contents(ctx context.Context, env *tools.Env, limits tools.Pictures, list []*sdk.ResourceContents) (text string, images []tools.Image) {
	g := gather(ctx, env, limits)
	for _, c := range list {
		if c != nil && (c.Text != "" || c.Blob == nil) {
			g.texts = append(g.texts, c.Text)
			continue
		}
		g.resource(c)
	}
	return strings.Join(g.texts, "\n"), g.images
}

func gather(ctx context.Context, env *tools.Env, limits tools.Pictures) gathered {
	g := gathered{fit: func(name string, data []byte) (tools.Image, error) { return limits.Fit(ctx, name, data) }}
	g.shown, g.sees = env.Reader.Sees != nil, env.Reader.Sees != nil && env.Reader.Sees()
	return g
}

type gathered struct {
	shown  bool // pictures are kept, because the environment may report whether the model sees them
	sees   bool // the model gets them
	fit    func(name string, data []byte) (tools.Image, error)
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
		g.addText("[audio, %s, %s: it cannot be heard here]", clean.Line(c.MIMEType, 60), amount.Bytes(len(c.Data)))
	case *sdk.ResourceLink:
		g.addText("[%s](%s) %s", clean.Line(c.Name, 200), clean.Line(c.URI, 2000), clean.Line(c.Description, 500))
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
		g.addText("%s:\n%s", clean.Line(r.URI, 2000), r.Text)
	case strings.HasPrefix(r.MIMEType, "image/"):
		g.image(r.MIMEType, r.Blob)
	default:
		g.addText("[%s: binary, %s, %s]", clean.Line(r.URI, 2000), clean.Line(r.MIMEType, 60), amount.Bytes(len(r.Blob)))
	}
}

// image adds a picture, and a text about its handling.
func (g *gathered) image(kind string, data []byte) {
	note := "it follows"
	switch {
	case !g.shown:
		note = "it is not sent"
	case len(g.images) == mostImages:
		note = fmt.Sprintf("left out: there are more than %d", mostImages)
	default:
		fitted, err := g.fit("it", data)
		if err != nil {
			note = err.Error()
			break
		}
		if !g.sees {
			note = "it follows as text, because this model does not see pictures"
		}
		fitted.Name = ""
		g.images = append(g.images, fitted)
	}
	g.addText("[picture, %s, %s: %s]", clean.Line(kind, 60), amount.Bytes(len(data)), note)
}
