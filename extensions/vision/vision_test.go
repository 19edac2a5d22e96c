package vision

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

func pictureOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestVisionAnalyze(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	small, large := pictureOf(t, 30, 20), pictureOf(t, 3000, 1500)
	for name, data := range map[string][]byte{"a.png": small, "large.png": large, "notes.txt": []byte("hello")} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "b.png")
	if err := os.WriteFile(outside, small, 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open([]string{folder}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	page := tools.Tool{Name: "page", Toolset: "web", Network: true, Schema: json.RawMessage(`{"type":"object"}`), Run: func(context.Context, *tools.Env, tools.Call) (tools.Result, error) {
		return tools.Result{}, nil
	}}
	var asked, question string
	x := &instance{extension.Models{
		Look: func(_ context.Context, p model.Image, system, text string) (model.Description, bool, error) {
			asked, question = p.Name, text
			if !strings.HasPrefix(system, "You answer a question") {
				t.Errorf("system prompt %q", system)
			}
			return model.Description{Text: "A gray field.", By: "seer"}, true, nil
		},
	}, func(_ context.Context, address string) ([]byte, error) {
		if strings.Contains(address, "127.0.0.1") {
			return nil, errors.New("127.0.0.1 is private")
		}
		return small, nil
	}, tools.Bounds{Files: ws}}
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(small)
	const follows = `,"note":"the picture follows"}`
	for _, c := range []struct {
		from, want, name string
		blind, planning  bool
	}{
		{from: "a.png", want: `{"width":30,"height":20` + follows, name: "a.png"},
		{from: "large.png", want: `{"width":1568,"height":784` + follows, name: "large.png"},
		{from: "https://go.dev/images/logo.png?x=1", want: `{"width":30,"height":20` + follows, name: "logo.png"},
		{from: data, want: `{"width":30,"height":20` + follows, name: "the picture"},
		{from: "a.png", blind: true, want: `{"analysis":"A gray field.","model":"seer"}`},
		{from: "notes.txt", want: `{"error":"notes.txt is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are"}`},
		{from: "no.png", want: `no.png does not exist`},
		{from: outside, want: `outside`},
		{from: ".", want: `{"error":". is a directory"}`},
		{from: " ", want: `image_url is empty`},
		{from: "http://127.0.0.1/a.png", want: `{"error":"http://127.0.0.1/a.png was not read: 127.0.0.1 is private"}`},
		{from: "https://go.dev/a.png", planning: true, want: `uses the network`},
		{from: "a.png", planning: true, want: `{"width":30,"height":20` + follows, name: "a.png"},
		{from: "data:image/png,x", want: `the data URL is not base64`},
		{from: "data:image/png;base64,?", want: `the data URL is not base64`},
	} {
		set := toolstest.Set(t, x.tool(), page)
		env := &tools.Env{Reader: tools.Reader{Sees: func() bool { return !c.blind }}, Dispatch: tools.Dispatch{Set: set}, Planning: c.planning}
		var out json.RawMessage
		r := toolstest.Call(t, set, env, "vision_analyze", map[string]string{"image_url": c.from, "question": "What is it?"}, &out)
		if !strings.Contains(string(r.JSON), c.want) {
			t.Errorf("%s, blind %v: %s, want %s", c.from, c.blind, r.JSON, c.want)
		}
		if (len(r.Images) == 1) != (c.name != "") || c.name != "" && r.Images[0].Name != c.name {
			t.Errorf("%s: pictures %+v", c.from, r.Images)
		}
	}
	if asked != "a.png" || question != "What is it?" {
		t.Errorf("the other model was asked about %q: %q", asked, question)
	}
	x.models.Look = func(context.Context, model.Image, string, string) (d model.Description, asked bool, err error) {
		return d, false, nil
	}
	set := toolstest.Set(t, x.tool())
	env := &tools.Env{Reader: tools.Reader{Sees: func() bool { return false }}, Dispatch: tools.Dispatch{Set: set}}
	for from, want := range map[string]string{"a.png": "auxiliary.vision", "https://go.dev/a.png": "web tools are off"} {
		if r := toolstest.Call(t, set, env, "vision_analyze", map[string]string{"image_url": from, "question": "?"}, new(json.RawMessage)); !strings.Contains(string(r.JSON), want) {
			t.Errorf("%s: %s, want %s", from, r.JSON, want)
		}
	}
}

func TestLargeDataURL(t *testing.T) {
	t.Parallel()
	if _, err := dataOf("image/png;base64," + strings.Repeat("A", maxData+1)); err == nil || err.Error() != "the data URL is too large: the limit is 64 MB" {
		t.Error(err)
	}
}

// TestOffered checks when the tool is offered. It adds at most 300 bytes to a request.
func TestOffered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		known  bool
		stored []tools.Spec
		want   int
	}{{known: true, want: 1}, {want: 0}, {known: true, stored: []tools.Spec{{Name: "other"}}}, {stored: []tools.Spec{{Name: "vision_analyze"}}, want: 1}} {
		set, err := extension.Open(t.Context(), []extension.Extension{New()}, func(string) *extension.Session {
			return &extension.Session{Models: extension.Models{Looks: func(context.Context) bool { return c.known }}}
		})
		if err != nil {
			t.Fatal(err)
		}
		list, err := set.Tools(t.Context(), c.stored)
		if err != nil || len(list) != c.want {
			t.Errorf("%+v: %d tools, %v", c, len(list), err)
		}
		for _, kind := range []extension.Kind{extension.Subagent, extension.Script, extension.Replay} {
			derived, err := set.Derive(t.Context(), kind, extension.Own{})
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			if kind == extension.Subagent && c.known {
				want = 1
			}
			if list, err := derived.Tools(t.Context(), nil); err != nil || len(list) != want {
				t.Errorf("%+v: a %s has %d tools, %v", c, kind, len(list), err)
			}
		}
	}
	spec := (&instance{}).tool()
	text, err := json.Marshal(map[string]any{"type": "function", "function": map[string]any{"name": spec.Name, "description": spec.Description, "parameters": spec.Schema}})
	if err != nil {
		t.Fatal(err)
	}
	if len(text)+1 > 300 {
		t.Errorf("the tool has %d bytes in a request, the limit is 300: %s", len(text)+1, text)
	}
	t.Logf("%d bytes", len(text)+1)
}

// If the workspace is the home directory, a picture in a place hidden from commands requires
// approval, as for read_file. This also applies behind a link, and in every mode.
func TestPicturesInPrivatePlacesAsk(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{".ssh/key.png", "a.png"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), pictureOf(t, 30, 20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".ssh/key.png", filepath.Join(home, "link.png")); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open([]string{home}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	x := &instance{extension.Models{}, nil, tools.Bounds{Files: ws, Sandbox: sandbox.New(sandbox.Config{Mode: sandbox.WorkspaceWrite, Roots: ws.Folders, Home: home})}}
	set := toolstest.Set(t, x.tool())
	for _, c := range []struct {
		from string
		asks bool
	}{{".ssh/key.png", true}, {filepath.Join(home, ".ssh/key.png"), true}, {"link.png", true}, {"a.png", false}} {
		for _, mode := range []string{"ask", "off"} {
			for _, say := range []tools.Decision{tools.DecisionOnce, tools.DecisionDeny} {
				user := toolstest.UserAnswering(say)
				env := &tools.Env{
					Reader: tools.Reader{Sees: func() bool { return true }}, Dispatch: tools.Dispatch{Set: set},
					Gate: gate.New(gate.Config{Asker: user, Mode: mode}),
				}
				r := toolstest.Call(t, set, env, "vision_analyze", map[string]string{"image_url": c.from, "question": "?"}, new(json.RawMessage))
				if asked := len(user.Asked) == 1; asked != c.asks || (len(r.Images) == 1) != (!c.asks || say == tools.DecisionOnce) {
					t.Errorf("%s, mode %s, answered %s: asked %v: %s, %d pictures", c.from, mode, say, user.Asked, r.JSON, len(r.Images))
				}
			}
		}
	}
}
