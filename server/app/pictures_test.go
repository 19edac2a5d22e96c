package app_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// seeing is a model for pictures.
type seeing struct{ *fakemodel.Model }

func (seeing) Sees(context.Context) bool { return true }

// A subagent gets each picture it reads.
func TestPicturesOfSubagents(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	write(t, root, "shot.png", b.String())
	m := fakemodel.Script(
		func(x *fakemodel.Exchange) {
			x.Call("1", "delegate_task", `{"goal":"Look at shot.png"}`)
			x.End()
		},
		func(x *fakemodel.Exchange) { x.Call("2", "read_file", `{"path":"shot.png"}`); x.End() },
		says("It is gray."), says("Gray."),
	)
	s := app.New(server.Options{Home: t.TempDir(), Model: seeing{m}, Static: true})
	t.Cleanup(func() { _ = s.Close() })
	x, err := s.NewSession(t.Context(), server.Place{Cwd: root}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "go"}, nil); err != nil {
		t.Fatal(err)
	}
	messages := m.Requests()[2].Messages
	if images := messages[len(messages)-1].Images(); len(images) != 1 || images[0].Name != "shot.png" {
		t.Errorf("the subagent got %d pictures: %+v", len(images), messages)
	}
}
