package acp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// seeing is a model for pictures.
type seeing struct{ *fakemodel.Model }

func (seeing) Sees(context.Context) bool { return true }

// TestPicture checks that a call's picture is shown, now and when the session is loaded.
func TestPicture(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: seeing{fakemodel.Script(tool("read_file", `{"path":"dot.png"}`), reply("a dot"))}})
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.ws, "dot.png"), picture.String())
	id := c.newSession()
	c.must(protocol.MethodSessionPrompt, say(id, "what is it?"), nil)
	c.must(protocol.MethodSessionLoad, protocol.LoadSessionRequest{SessionID: id, Cwd: c.ws}, nil)
	shown := 0
	for _, call := range calls(c.seen()) {
		for _, content := range call.Content {
			if b := content.Content; b != nil && b.Type == protocol.ContentImage {
				shown++
				if b.MIMEType != "image/png" || b.Data != base64.StdEncoding.EncodeToString(picture.Bytes()) {
					t.Errorf("shown is %+v", b)
				}
			}
		}
	}
	if shown != 2 {
		t.Errorf("the picture was shown %d times, want twice", shown)
	}
}

// TestRejectedPrompt checks that a prompt with an unusable picture returns an error, and that
// nothing is stored or sent. A large picture is scaled down.
func TestRejectedPrompt(t *testing.T) {
	t.Parallel()
	var large bytes.Buffer
	wide := image.NewGray(image.Rect(0, 0, 1600, 2))
	wide.SetGray(0, 0, color.Gray{Y: 200})
	if err := png.Encode(&large, wide); err != nil {
		t.Fatal(err)
	}
	model := fakemodel.Script(func(x *fakemodel.Exchange) {
		images := x.Request.Messages[0].Images()
		if len(x.Request.Messages) != 1 || len(images) != 1 || images[0].MIMEType != "image/png" {
			t.Errorf("sent %d messages with %d pictures", len(x.Request.Messages), len(images))
			return
		}
		data, _ := base64.StdEncoding.DecodeString(images[0].Data)
		if size, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || size.Width != 1568 || size.Height != 1 {
			t.Errorf("sent %+v, %v", size, err)
		}
		x.Text("wide")
		x.End()
	})
	c := connect(t, setup{model: seeing{model}})
	id := c.newSession()
	look := func(uri, mime string, data []byte) protocol.PromptRequest {
		return protocol.PromptRequest{SessionID: id, Prompt: []protocol.ContentBlock{
			{Type: protocol.ContentImage, URI: uri, MIMEType: mime, Data: base64.StdEncoding.EncodeToString(data)}}}
	}
	header := large.Bytes()[:33]
	for _, bad := range []struct {
		uri  string
		data []byte
		want string
	}{
		{"file:///a/cut.png", header, "cut.png cannot be decoded"},
		{"", []byte("text"), "image 1 is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are"},
	} {
		r := c.call(protocol.MethodSessionPrompt, look(bad.uri, "image/png", bad.data))
		if r.Error == nil || r.Error.Code != protocol.CodeInvalidParams || !strings.Contains(r.Error.Message, bad.want) {
			t.Errorf("%q: %+v", bad.uri, r.Error)
		}
	}
	c.must(protocol.MethodSessionPrompt, look("", "image/jpeg", large.Bytes()), nil)
}

// TestLinkedPicture checks links and references to a picture. If the picture is in the workspace,
// they attach it; otherwise a link stays a link.
func TestLinkedPicture(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "b.png")
	write(t, outside, picture.String())
	model := fakemodel.Script(func(x *fakemodel.Exchange) {
		m := x.Request.Messages[0]
		images := m.Images()
		if len(images) != 2 || images[0].Name != "dot.png" || images[1].Name != "a/other.png" || images[0].MIMEType != "image/png" {
			t.Errorf("sent %d pictures: %+v", len(images), images)
		}
		if text := m.Text(); !strings.HasPrefix(text, "What is [@dot.png](file://") || !strings.Contains(text, "The editor linked this; read it if it matters: file://"+filepath.ToSlash(outside)) || strings.Count(text, "The editor linked this") != 1 {
			t.Errorf("sent %q", text)
		}
		x.Text("dots")
		x.End()
	})
	c := connect(t, setup{model: seeing{model}})
	write(t, filepath.Join(c.ws, "dot.png"), picture.String())
	write(t, filepath.Join(c.ws, "a", "other.png"), picture.String())
	link := func(path string) protocol.ContentBlock {
		return protocol.ContentBlock{Type: protocol.ContentResourceLink, Name: filepath.Base(path), URI: "file://" + filepath.ToSlash(path)}
	}
	id := c.newSession()
	c.must(protocol.MethodSessionPrompt, protocol.PromptRequest{SessionID: id, Prompt: []protocol.ContentBlock{
		protocol.Text("What is "), link(filepath.Join(c.ws, "dot.png")), protocol.Text(" beside @file:a/other.png and "), link(outside),
	}}, nil)
}

// TestAnnouncedType checks that the content of a picture decides, not the client's announced type.
func TestAnnouncedType(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	model := fakemodel.Script(func(x *fakemodel.Exchange) {
		images := x.Request.Messages[0].Images()
		if len(images) != 2 || images[0].MIMEType != "image/png" || images[1].MIMEType != "image/png" || images[1].Name != "dot" {
			t.Errorf("sent %+v", images)
		}
		if text := x.Request.Messages[0].Text(); !strings.Contains(text, "read it if it matters: file:///a/data.bin") {
			t.Errorf("sent %q", text)
		}
		x.Text("dots")
		x.End()
	})
	c := connect(t, setup{model: seeing{model}})
	encoded, binary := base64.StdEncoding.EncodeToString(picture.Bytes()), base64.StdEncoding.EncodeToString([]byte("BM\x00\x01"))
	c.must(protocol.MethodSessionPrompt, protocol.PromptRequest{SessionID: c.newSession(), Prompt: []protocol.ContentBlock{
		{Type: protocol.ContentImage, MIMEType: "application/octet-stream", Data: encoded},
		{Type: protocol.ContentResource, Resource: &protocol.ResourceContents{URI: "file:///a/dot", Blob: &encoded}},
		{Type: protocol.ContentResource, Resource: &protocol.ResourceContents{URI: "file:///a/data.bin", MIMEType: "application/octet-stream", Blob: &binary}},
	}}, nil)
}
