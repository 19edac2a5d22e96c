package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/tools"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ server, tool, want string }{
		{"github", "create_issue", "mcp__github__create_issue"},
		{"my server", "a.b/c", "mcp__my_server__a_b_c"},
		{"a__b", "x", "mcp__a_b__x"},
		{"日本", "", "mcp__x__x"},
	} {
		if got := fullName(labelOf(tc.server), tc.tool); got != tc.want {
			t.Errorf("%s of %s is called %s, want %s", tc.tool, tc.server, got, tc.want)
		}
	}
	if got := labelOf(strings.Repeat("s", 60)); len(got) != labelLimit {
		t.Errorf("a long server's name: %s", got)
	}
	long := fullName("label", strings.Repeat("a", 100))
	if len(long) != nameLimit || long == fullName("label", strings.Repeat("a", 101)) {
		t.Errorf("long names: %s", long)
	}
	taken := map[string]int{}
	if a, b := unique("x", taken), unique("x", taken); a != "x" || b != "x_2" {
		t.Errorf("the same name twice: %s, %s", a, b)
	}
}

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
		"texts":      {in: sdk.CallToolResult{Content: []sdk.Content{text("a"), text("b")}}, want: `{"content":"a\nb"}`},
		"nothing":    {want: `{"content":""}`},
		"failure":    {in: sdk.CallToolResult{IsError: true, Content: []sdk.Content{text("no")}}, want: `{"error":"no"}`},
		"structured": {in: sdk.CallToolResult{Content: []sdk.Content{text(`{"n": 1}`)}, StructuredContent: map[string]any{"n": 1.0}}, want: `{"content":"","structured_content":{"n":1}}`},
		"both":       {in: sdk.CallToolResult{Content: []sdk.Content{text("one")}, StructuredContent: []any{1.0}}, want: `{"content":"one","structured_content":[1]}`},
		"picture": {in: sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: picture}}}, sees: true,
			want: `{"content":"[picture, image/png, 67 B: it follows]"}`, images: 1},
		"unseen picture": {in: sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: picture}}},
			want: `{"content":"[picture, image/png, 67 B: this model does not see pictures]"}`, images: 1},
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
		got := resultOf(t.Context(), &tools.Env{Reader: tools.Reader{Sees: func() bool { return tc.sees }}}, tools.Pictures{}, &tc.in)
		if string(got.JSON) != tc.want || len(got.Images) != tc.images {
			t.Errorf("%s: %s with %d pictures, want %s", name, got.JSON, len(got.Images), tc.want)
		}
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`: `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`,
		`{}`:                `{"properties":{},"type":"object"}`,
		`null`:              `{"properties":{},"type":"object"}`,
		`{"type":"string"}`: "",
		`{"type":"object","properties":{"a":{"type":7}}}`:    "",
		`{"x":"` + strings.Repeat("x", largestSchema) + `"}`: "",
	} {
		var schema any
		if err := json.Unmarshal([]byte(in), &schema); err != nil {
			t.Fatal(err)
		}
		got, err := parameters(schema)
		if (err != nil) != (want == "") || err == nil && string(got) != want {
			t.Errorf("%.60s became %s, %v; want %s", in, got, err, want)
		}
	}
}

// FuzzMessages checks that only whole lines of JSON reach the SDK, however the output is
// split.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("{\"a\":1}\nhello\n[1]\n{\n"), uint8(3))
	f.Add([]byte("\n\n{}\r\n"), uint8(1))
	f.Add([]byte("{}\v\n"), uint8(6))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		var out, other bytes.Buffer
		m := &messages{to: &out, other: &other}
		for rest := in; len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			if _, err := m.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("passed %q", line)
			}
		}
		whole := in[:bytes.LastIndexByte(in, '\n')+1]
		if out.Len()+other.Len() != len(whole) {
			t.Errorf("%d bytes of %d came out", out.Len()+other.Len(), len(whole))
		}
	})
}
