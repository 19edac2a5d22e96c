package servertest_test

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// Markdown images of a chat document with a path in the workspace are pictures of the prompt. Addresses
// are text. If a picture cannot be decoded, nothing is sent.
func TestChatPictures(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"a [1].png": b.String(), "shot.png": b.String(), ".hermes/chats/near.png": b.String(), "broken.png": b.String()[:30]}
	with(t, servertest.Options{Files: files}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		chat := openChat(t, e, protocol.ChatOpenArgs{})
		e.Edit(chat, "", "See ![a](broken.png)")
		if _, err := send(t, e, chat); err == nil || !strings.Contains(err.Error(), "broken.png cannot be decoded: it is broken") || len(m.Requests()) > 0 {
			t.Errorf("a broken picture: %v, %d requests", err, len(m.Requests()))
		}
		e.Edit(chat, "See ![a](broken.png)", "See ![a](shot.png), ![b](near.png) and ![c](http://127.0.0.1:1/c.png).")
		if _, err := send(t, e, chat); err != nil {
			t.Fatal(err)
		}
		if text := settle(e, chat); !strings.Contains(text, "\n- ✓ Read a [1].png: [a \\[1\\].png](<../../a%20%5B1%5D.png>)\n") {
			t.Errorf("the chat has no link to the picture that was read:\n%s", text)
		}
		var names []string
		prompt := m.Requests()[0].Messages[0]
		for _, i := range prompt.Images() {
			names = append(names, i.Name)
		}
		if !slices.Equal(names, []string{"shot.png", ".hermes/chats/near.png"}) || !strings.HasPrefix(prompt.Text(), "See ![a](shot.png), ![b](near.png) and ![c](http://127.0.0.1:1/c.png).") {
			t.Errorf("sent %q with the pictures %q", prompt.Text(), names)
		}
		if err := e.Command(protocol.CommandPrompt, protocol.PromptArgs{Prompt: "And @file:shot.png?", Wait: true}, new(protocol.TurnResult)); err != nil {
			t.Fatal(err)
		}
		last := m.Requests()[2].Messages
		if images := last[len(last)-1].Images(); len(images) != 1 || images[0].Name != "shot.png" {
			t.Errorf("a reference: %d pictures", len(images))
		}
	}, func(x *fakemodel.Exchange) { x.Call("1", "read_file", `{"path":"a [1].png"}`) }, says("Three."), says("Yes."))
}
