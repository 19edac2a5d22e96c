// Package resources lets the model and the user read the resources of servers.
package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/clean"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/results"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools"
)

// ToolName is the name of the tool, and Toolset its toolset.
const (
	ToolName = "mcp_resource"
	Toolset  = "mcp"
)

// Source is a server with resources.
type Source struct {
	Name    string
	Timeout time.Duration // of a request
	// Permit checks whether the model may read a resource.
	Permit func(ctx context.Context, env *tools.Env, c tools.Call, uri string) error
	// Connect returns the connection. Worded makes an error readable for the model.
	Connect func(ctx context.Context) (*sdk.ClientSession, error)
	Worded  func(err error) error
}

// Sources returns the servers that currently have resources.
type Sources func() []Source

const (
	page        = 100    // resources of a listing
	mostListed  = 5000   // resources of a server
	mostContent = 40_000 // bytes of a resource per call
)

type in struct {
	Server string `json:"server,omitempty"`
	URI    string `json:"uri,omitempty" jsonschema:"empty: list the resources"`
	Offset int    `json:"offset,omitempty" jsonschema:"of the list, or byte of the content"`
}

type listed struct {
	Server   string `json:"server"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	MIMEType string `json:"mime_type,omitempty"`
	Size     int64  `json:"size,omitempty"`
}

type listOut struct {
	Resources  []listed `json:"resources"`
	NextOffset int      `json:"next_offset,omitempty"`
}

type readOut struct {
	URI       string `json:"uri"`
	Content   string `json:"content"`
	MIMEType  string `json:"mime_type"`
	Truncated bool   `json:"truncated,omitempty"`
}

// Tool returns the tool mcp_resource.
func Tool(sources Sources, limits tools.Pictures) tools.Tool {
	return tools.New(tools.Tool{
		Name: ToolName, Toolset: Toolset, Kind: tools.KindFetch, ReadOnly: true, Plans: true, ResultCap: 50_000,
		Description: "Lists the resources of MCP servers, or reads one. {…} in a uri is a part that you fill in.",
		Title: func(args json.RawMessage) string {
			var a in
			_ = json.Unmarshal(args, &a) // without a uri, the title is shorter
			if a.URI == "" {
				return "List MCP resources"
			}
			return "Read " + clean.Line(a.URI, 100)
		},
	}, func(ctx context.Context, env *tools.Env, c tools.Call, a in) (tools.Result, error) {
		if a.URI == "" {
			return list(ctx, sources(), a), ctx.Err()
		}
		return read(ctx, env, c, sources(), a, limits), ctx.Err()
	})
}

func list(ctx context.Context, all []Source, a in) tools.Result {
	all, err := of(all, a.Server)
	if err != nil {
		return tools.Fail("%v", err)
	}
	found := []listed{}
	for _, s := range all {
		some, err := resourcesOf(ctx, s)
		if err != nil && (a.Server != "" || len(all) == 1) {
			return tools.Fail("%v", s.Worded(err))
		}
		found = append(found, some...)
	}
	first := min(max(a.Offset, 0), len(found))
	last := min(first+page, len(found))
	out := listOut{Resources: found[first:last]}
	if last < len(found) {
		out.NextOffset = last
	}
	return tools.OK(out)
}

// of returns the servers to search: all, or the server with the name.
func of(all []Source, name string) ([]Source, error) {
	if name == "" {
		return all, nil
	}
	at := slices.IndexFunc(all, func(s Source) bool { return strings.EqualFold(s.Name, name) })
	if at < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		return nil, fmt.Errorf("no connected MCP server %q has resources. These have: %s", name, strings.Join(names, ", "))
	}
	return all[at : at+1], nil
}

// resourcesOf lists the resources and the templates of a server.
func resourcesOf(ctx context.Context, s Source) (found []listed, err error) {
	ctx, stop := context.WithTimeout(ctx, s.Timeout)
	defer stop()
	session, err := s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			return found, err
		}
		if len(found) == mostListed {
			return found, nil
		}
		found = append(found, listed{s.Name, r.URI, clean.Line(r.Name, 200), r.MIMEType, r.Size})
	}
	for t, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil || len(found) == mostListed {
			break // not every server offers templates
		}
		found = append(found, listed{Server: s.Name, URI: t.URITemplate, Name: clean.Line(t.Name, 200), MIMEType: t.MIMEType})
	}
	return found, nil
}

func read(ctx context.Context, env *tools.Env, c tools.Call, all []Source, a in, limits tools.Pictures) tools.Result {
	s, err := holder(ctx, all, a)
	if err != nil {
		return tools.Fail("%v", err)
	}
	if err := s.Permit(ctx, env, c, a.URI); err != nil {
		return tools.Fail("%v", err)
	}
	contents, err := fetch(ctx, s, a.URI)
	if err != nil {
		return tools.Fail("%v", err)
	}
	text, images := results.Contents(ctx, env, limits, contents)
	out := readOut{URI: a.URI}
	if len(contents) > 0 && contents[0] != nil {
		out.MIMEType = contents[0].MIMEType
	}
	out.Content, out.Truncated = cut(text, a.Offset)
	result := tools.OK(out)
	result.Images = images
	return result
}

// cut returns the part of a text from an offset, up to the size of a result.
func cut(text string, offset int) (part string, truncated bool) {
	offset = min(max(offset, 0), len(text))
	for offset < len(text) && !utf8.RuneStart(text[offset]) {
		offset++
	}
	text = text[offset:]
	if len(text) <= mostContent {
		return text, false
	}
	return strings.ToValidUTF8(text[:mostContent], ""), true
}

// holder returns the server of a resource. If the call names none, holder returns the server that
// lists the resource, or the only server.
func holder(ctx context.Context, all []Source, a in) (Source, error) {
	some, err := of(all, a.Server)
	switch {
	case err != nil:
		return Source{}, err
	case len(some) == 1:
		return some[0], nil
	}
	var names []string
	for _, s := range some {
		found, err := resourcesOf(ctx, s)
		if err == nil && slices.ContainsFunc(found, func(l listed) bool { return l.URI == a.URI }) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Source{}, fmt.Errorf("no MCP server lists %s. Set server to one of: %s", clean.Line(a.URI, 200), strings.Join(names, ", "))
}

func fetch(ctx context.Context, s Source, uri string) ([]*sdk.ResourceContents, error) {
	ctx, stop := context.WithTimeout(ctx, s.Timeout)
	defer stop()
	session, err := s.Connect(ctx)
	if err != nil {
		return nil, s.Worded(err)
	}
	r, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, s.Worded(err)
	}
	return r.Contents, nil
}

// Mention is a reference @SERVER:URI in a prompt.
type Mention struct{ Server, URI, Text string }

var mention = lazyregexp.New("`[^`\n]*`|" + `(?:^|[\s(\[{,;])@([\w.-]+):("[^"\n]+"|[^\s"]+)`)

// taken are the references of other features.
var taken = []string{"file", "folder", "git", "url", "symbol"}

// Mentions returns the references to resources of the servers, each once. It leaves out text in backticks.
func Mentions(prompt string, all []Source) (found []Mention) {
	for _, m := range mention.FindAllStringSubmatch(prompt, -1) {
		uri := strings.TrimRight(strings.Trim(m[2], `"`), ".,;:!?)]}'`")
		at := slices.IndexFunc(all, func(s Source) bool { return s.Name == m[1] })
		if at < 0 || slices.Contains(taken, m[1]) || !strings.Contains(uri, ":") {
			continue
		}
		one := Mention{m[1], uri, "@" + m[1] + ":" + uri}
		if !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return found
}

const mostAttached = 200_000 // bytes of a resource attached to a prompt

// Read returns the text of a resource mentioned by the user.
func Read(ctx context.Context, all []Source, m Mention) (string, error) {
	some, err := of(all, m.Server)
	if err != nil {
		return "", err
	}
	contents, err := fetch(ctx, some[0], m.URI)
	if err != nil {
		return "", err
	}
	text, _ := results.Contents(ctx, &tools.Env{}, tools.Pictures{}, contents)
	if len(text) > mostAttached {
		return "", fmt.Errorf("it has %d bytes, and %d can be attached", len(text), mostAttached)
	}
	if text == "" {
		return "", errors.New("it is empty")
	}
	return text, nil
}
