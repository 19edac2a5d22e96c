package acp

import (
	"context"
	"encoding/base64"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/pictures"
	"github.com/hermes-ls/hermes-ls/tools"
)

// prompt takes a place in the session's queue and responds when the turn has ended.
func (a *Agent) prompt(ctx context.Context, p *acp.PromptRequest, next func()) (*acp.PromptResponse, error) {
	x, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	if len(p.Prompt) == 0 && continues(p.Meta) {
		return a.run(ctx, x, agent.Input{Text: "Results of subagents"}, next, func(also agent.Sink) *server.Turn { return server.StartNotices(x, also) })
	}
	in, err := inputOf(p.Prompt)
	if err != nil {
		return nil, err
	}
	files, limits := server.PicturesOf(x)
	if err = (pictures.Source{Files: files, Limits: limits}).Attach(ctx, &in); err != nil {
		return nil, err
	}
	onNewPrompt, err := onNewPrompt(p.Meta)
	if err != nil {
		return nil, err
	}
	if in.ID, err = messageID(p.Meta); err != nil {
		return nil, err
	}
	return a.run(ctx, x, in, next, func(also agent.Sink) *server.Turn { return x.StartAs(onNewPrompt, in, also) })
}

// run runs the turn made by start. in describes it.
func (a *Agent) run(ctx context.Context, x *server.Session, in agent.Input, next func(), start func(agent.Sink) *server.Turn) (_ *acp.PromptResponse, err error) {
	var also agent.Sink
	ended := func(agent.StopReason, error) {}
	if a.o.Turn != nil {
		ctx, also, ended = a.o.Turn(ctx, x.ID(), in)
	}
	turn := start(also)
	next()
	var stop agent.StopReason
	defer func() { ended(stop, err) }() // after a panic, too, so the progress ends
	if stop, err = turn.Run(ctx); err != nil {
		return nil, a.keyless(err)
	}
	return &acp.PromptResponse{StopReason: acp.StopReason(stop)}, nil
}

// continues returns _meta.hermes.continue: the turn begins with the waiting notices.
func continues(m acp.Meta) bool {
	ours, _ := m["hermes"].(map[string]any)
	yes, _ := ours["continue"].(bool)
	return yes
}

// onNewPrompt returns _meta.hermes.onNewPrompt, which decides about the running turn. If it
// is not set, the result is empty and the configuration decides.
func onNewPrompt(m acp.Meta) (string, error) {
	ours, ok := m["hermes"].(map[string]any)
	if !ok || ours["onNewPrompt"] == nil {
		return "", nil
	}
	switch said := ours["onNewPrompt"]; said {
	case server.Interrupt, server.Queue:
		return said.(string), nil
	default:
		return "", acp.Errorf(acp.CodeInvalidParams, "_meta.hermes.onNewPrompt is %#v; it may be %q or %q", said, server.Interrupt, server.Queue)
	}
}

// messageID returns the id of the client's message. If there is none, it returns "".
func messageID(m acp.Meta) (string, error) {
	ours, ok := m["hermes"].(map[string]any)
	if !ok || ours["messageId"] == nil {
		return "", nil
	}
	said, _ := ours["messageId"].(string)
	id, err := uuid.Parse(said)
	if err != nil {
		return "", acp.Errorf(acp.CodeInvalidParams, "_meta.hermes.messageId is %#v, which is no UUID", ours["messageId"])
	}
	return id.String(), nil
}

// cancel cancels the turn of a session, if there is one. It never waits.
func (a *Agent) cancel(_ context.Context, p *acp.CancelNotification) (any, error) {
	if p.SessionID == "" {
		return nil, missing("sessionId")
	}
	a.svc.Cancel(p.SessionID)
	return nil, nil
}

// inputOf makes a prompt of blocks: texts and mentions in their order, and the resources of
// the mentions as context.
func inputOf(blocks []acp.ContentBlock) (agent.Input, error) {
	var in agent.Input
	var text, typed strings.Builder
	for i, b := range blocks {
		switch b.Type {
		case acp.ContentText:
			write(&text, b.Text)
			write(&typed, b.Text)
		case acp.ContentImage:
			data, err := pictureOf(i, b.Data)
			if err != nil {
				return in, err
			}
			if kind, _, _ := tools.PictureKind(data); kind == "" && !strings.HasPrefix(b.MIMEType, "image/") { // the content decides
				return in, acp.Errorf(acp.CodeInvalidParams, "prompt[%d].mimeType %q is not an image's", i, b.MIMEType)
			}
			in.Images = append(in.Images, model.Image{Name: fileName(b.URI), MIMEType: b.MIMEType, Data: b.Data})
		case acp.ContentResourceLink:
			if b.URI == "" {
				return in, acp.Errorf(acp.CodeInvalidParams, "prompt[%d].uri is missing", i)
			}
			write(&text, mention(b.Name, b.URI))
			in.Context = append(in.Context, agent.Resource{URI: b.URI})
		case acp.ContentResource:
			if err := addResource(&in, &text, i, b.Resource); err != nil {
				return in, err
			}
		case acp.ContentAudio:
			return in, acp.Errorf(acp.CodeInvalidParams, "prompt[%d]: audio is not supported (promptCapabilities.audio is false)", i)
		default:
			return in, acp.Errorf(acp.CodeInvalidParams, "prompt[%d].type %q is not a kind of content; text, image, resource_link and resource are", i, b.Type)
		}
	}
	in.Text = text.String()
	if in.Text != typed.String() {
		in.Typed = typed.String() + "\n" // the names of mentions are not the user's words
	}
	if strings.TrimSpace(in.Text) == "" && len(in.Images) == 0 && len(in.Context) == 0 {
		return in, acp.Errorf(acp.CodeInvalidParams, "prompt is empty: say something")
	}
	return in, nil
}

func addResource(in *agent.Input, text *strings.Builder, i int, r *acp.ResourceContents) error {
	switch {
	case r == nil || r.URI == "":
		return acp.Errorf(acp.CodeInvalidParams, "prompt[%d].resource needs a uri and a text or a blob", i)
	case r.Text != nil:
		write(text, mention("", r.URI))
		in.Context = append(in.Context, agent.Resource{URI: r.URI, Text: *r.Text})
	case r.Blob != nil:
		data, err := pictureOf(i, *r.Blob)
		if announced := strings.HasPrefix(r.MIMEType, "image/"); err != nil && announced {
			return err
		} else if _, width, _ := tools.PictureKind(data); announced || width > 0 { // the content decides
			in.Images = append(in.Images, model.Image{Name: fileName(r.URI), MIMEType: r.MIMEType, Data: *r.Blob})
		} else { // a model cannot read it, but its address may help
			in.Context = append(in.Context, agent.Resource{URI: r.URI})
		}
		write(text, mention("", r.URI))
	default:
		return acp.Errorf(acp.CodeInvalidParams, "prompt[%d].resource needs a text or a blob", i)
	}
	return nil
}

// pictureOf decodes the picture of block i of a prompt.
func pictureOf(i int, encoded string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) == 0 {
		return nil, acp.Errorf(acp.CodeInvalidParams, "prompt[%d].data is not base64", i)
	}
	return data, nil
}

// mention returns the text for a resource.
func mention(name, uri string) string {
	if name == "" {
		name = lastPart(uri)
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
	}
	return "[@" + name + "](" + inLink.Replace(uri) + ")"
}

// inLink encodes the characters that end the address of a Markdown link. Some clients do not.
var inLink = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29")

func lastPart(uri string) string {
	return uri[strings.LastIndexByte(strings.TrimRight(uri, "/"), '/')+1:]
}

// fileName names a picture after its address. If it has none, fileName returns "".
func fileName(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Path == "" {
		return lastPart(uri)
	}
	return path.Base(u.Path)
}

// write appends a piece. Clients split a text at its mentions and keep its spaces. If two pieces
// have no space between them, write adds a space around a mention and a line break between texts.
func write(b *strings.Builder, piece string) {
	last, _ := utf8.DecodeLastRuneInString(b.String())
	first, _ := utf8.DecodeRuneInString(piece)
	switch isMention := strings.HasPrefix(piece, "[@"); {
	case b.Len() == 0 || piece == "" || unicode.IsSpace(last) || unicode.IsSpace(first):
	case isMention && !isWord(last), last == ')' && !isWord(first):
	case isMention, last == ')':
		b.WriteByte(' ')
	default:
		b.WriteByte('\n')
	}
	b.WriteString(piece)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
