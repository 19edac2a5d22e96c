package acp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// seeing is a model that takes pictures.
type seeing struct{ *fakemodel.Model }

func (seeing) Sees(context.Context) bool { return true }

// TestPicture wants a picture that a call gives shown, now and when the session is
// loaded.
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
