package results

import (
	"encoding/base64"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/tools"
)

func TestResults(t *testing.T) {
	t.Parallel()
	text := func(s string) sdk.Content { return &sdk.TextContent{Text: s} }
	picture, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		in     sdk.CallToolResult
		sees   bool
		want   string
		images int
	}{
		"texts":                 {in: sdk.CallToolResult{Content: []sdk.Content{text("a"), text("b")}}, want: `{"content":"a\nb"}`},
		"nothing":               {want: `{"content":""}`},
		"failure":               {in: sdk.CallToolResult{IsError: true, Content: []sdk.Content{text("no")}}, want: `{"error":"no"}`},
		"failure with a reason": {in: sdk.CallToolResult{IsError: true, StructuredContent: map[string]any{"code": 7.0}}, want: `{"error":"{\"code\":7}"}`},
		"failure with a picture": {in: sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: picture}}}, sees: true,
			want: `{"error":"[picture, image/png, 67 B: it follows]"}`, images: 1},
		"structured": {in: sdk.CallToolResult{Content: []sdk.Content{text(`{"n": 1}`)}, StructuredContent: map[string]any{"n": 1.0}}, want: `{"content":"","structured_content":{"n":1}}`},
		"both":       {in: sdk.CallToolResult{Content: []sdk.Content{text("one")}, StructuredContent: []any{1.0}}, want: `{"content":"one","structured_content":[1]}`},
		"picture": {in: sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: picture}}}, sees: true,
			want: `{"content":"[picture, image/png, 67 B: it follows]"}`, images: 1},
		"unseen picture": {in: sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: picture}}},
			want: `{"content":"[picture, image/png, 67 B: it follows as text, because this model does not see pictures]"}`, images: 1},
		"broken picture": {in: sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("abc")}}}, sees: true,
			want: `{"content":"[picture, image/png, 3 B: it is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are]"}`},
		"audio": {in: sdk.CallToolResult{Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("abc")}}},
			want: `{"content":"[audio, audio/wav, 3 B: it cannot be heard here]"}`},
		"link": {in: sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "x://y", Name: "n", Description: "d"}}}, want: `{"content":"[n](x://y) d"}`},
		"resource": {in: sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x://y", Text: "t"}}}},
			want: `{"content":"x://y:\nt"}`},
		"binary": {in: sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x://y", Blob: []byte("1"), MIMEType: "a/b"}}}},
			want: `{"content":"[x://y: binary, a/b, 1 B]"}`},
	} {
		got := Of(t.Context(), &tools.Env{Reader: tools.Reader{Sees: func() bool { return tc.sees }}}, tools.Pictures{}, &tc.in)
		if string(got.JSON) != tc.want || len(got.Images) != tc.images {
			t.Errorf("%s: %s with %d pictures, want %s", name, got.JSON, len(got.Images), tc.want)
		}
	}
}
