package pictures

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// TestMain lets the test binary be a helper process.
func TestMain(m *testing.M) {
	modes.Enter()
	os.Exit(m.Run())
}

func TestMarkdownImages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"look: ![a shot](shot.png) and ![](<my shot.jpg>)":                            "shot.png|my shot.jpg",
		`![a](img/a%20b.png "title") ![b](b(1).gif)`:                                  "img/a b.png|b(1).gif",
		"![a](file:///tmp/a%20b.png)":                                                 "file:///tmp/a%20b.png",
		"![a](https://x.dev/a.png) ![a](//x.dev/a.png)":                               "",
		"![a](data:image/png;base64,AAAA) ![a](ftp://x/a.png)":                        "",
		"`![a](a.png)` ![b](b.png)":                                                   "b.png",
		"```\n![a](a.png)\n```\n![b](b.png)":                                          "b.png",
		"~~~md\n![a](a.png)\n~~~\n":                                                   "",
		"[a](a.png) ![a](a.svg) ![a](notes.md)":                                       "",
		"![a](data:image/png;base64," + strings.Repeat("A", 1<<20) + ")\n![b](b.png)": "b.png",
		`![a](\\host\share\a.png)`:                                                    `\\host\share\a.png`,
	} {
		if got := strings.Join(markdownImages(text), "|"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, chats, outside := filepath.Join(dir, "ws"), filepath.Join(dir, "ws", ".hermes", "chats"), filepath.Join(dir, "other")
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(root, "shot.png"): b.String(), filepath.Join(root, "my shot.png"): b.String(), filepath.Join(chats, "near.png"): b.String(),
		filepath.Join(outside, "secret.png"): b.String(), filepath.Join(root, "broken.png"): "no picture", filepath.Join(root, "photo.heic"): "ftypheic",
		filepath.Join(root, "main.go"): "package main\n", filepath.Join(root, ".ssh", "key.png"): b.String(),
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "folder.png"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret.png"), filepath.Join(root, "link.png")); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open([]string{root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	link := func(path string) agent.Resource { return agent.Resource{URI: string(uri.File(path))} }
	shot := link(filepath.Join(root, "shot.png"))
	for _, c := range []struct {
		what     string
		in       agent.Input
		document string
		want     string // names of the pictures, or the error
		links    int    // links left as links
	}{
		{what: "a link", in: agent.Input{Context: []agent.Resource{shot}}, want: "shot.png"},
		{what: "a link with a space", in: agent.Input{Context: []agent.Resource{link(filepath.Join(root, "my shot.png"))}}, want: "my shot.png"},
		{what: "a link to a text", in: agent.Input{Context: []agent.Resource{link(filepath.Join(root, "main.go"))}}, links: 1},
		{what: "a link outside", in: agent.Input{Context: []agent.Resource{link(filepath.Join(outside, "secret.png"))}}, links: 1},
		{what: "a symbolic link outside", in: agent.Input{Text: "@file:link.png"}},
		{what: "a missing file", in: agent.Input{Context: []agent.Resource{link(filepath.Join(root, "no.png"))}}, links: 1},
		{what: "a reference and a link", in: agent.Input{Text: "@file:shot.png", Context: []agent.Resource{shot}}, want: "shot.png"},
		{what: "two references", in: agent.Input{Text: `@file:shot.png and @file:"my shot.png"`}, want: "shot.png|my shot.png"},
		{what: "Markdown of another host", in: agent.Input{Text: "![](shot.png)"}},
		{what: "Markdown in a chat", in: agent.Input{Text: "![](near.png) ![](shot.png) ![](../../my%20shot.png)"}, document: chats, want: ".hermes/chats/near.png|shot.png|my shot.png"},
		{what: "Markdown outside", in: agent.Input{Text: "![](../../../other/secret.png) ![](/etc/x.png) ![](http://127.0.0.1/a.png)"}, document: chats},
		{what: "a broken picture", in: agent.Input{Text: "@file:broken.png"}, want: "prompt: broken.png is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are"},
		{what: "a place of secrets", in: agent.Input{Text: "@file:.ssh/key.png ![](/.ssh/key.png)", Context: []agent.Resource{link(filepath.Join(root, ".ssh", "key.png"))}}, document: root, links: 1},
		{what: "a large picture", in: agent.Input{Images: []model.Image{{Data: strings.Repeat("A", 96<<20)}}}, want: "prompt: image 1 is too large: the limit is 64 MB"},
		{what: "a folder", in: agent.Input{Text: "@file:folder.png"}},
		{what: "a broken picture between others", in: agent.Input{Text: "@file:shot.png", Images: []model.Image{
			{Name: "b.png", Data: base64.StdEncoding.EncodeToString(b.Bytes())}, {Data: base64.StdEncoding.EncodeToString([]byte("text"))}}},
			want: "prompt: image 1 is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are"},
		{what: "another format", in: agent.Input{Text: "@file:photo.heic"}, want: "prompt: photo.heic is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are"},
	} {
		var names []string
		in := c.in
		err := Source{Files: ws, Document: c.document}.Attach(t.Context(), &in)
		for _, i := range in.Images {
			names = append(names, i.Name)
			if err == nil && (i.MIMEType != "image/png" || i.Data != base64.StdEncoding.EncodeToString(b.Bytes())) {
				t.Errorf("%s: %s is another picture", c.what, i.Name)
			}
		}
		got := strings.Join(names, "|")
		if bad := (*extension.InputError)(nil); errors.As(err, &bad) {
			got = err.Error()
		} else if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if filepath.ToSlash(got) != c.want || len(in.Context) != c.links {
			t.Errorf("%s: %s, %d links; want %s", c.what, got, len(in.Context), c.want)
		}
	}
}
