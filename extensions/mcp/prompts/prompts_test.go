package prompts

import (
	"maps"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	p := &sdk.Prompt{Name: "p", Arguments: []*sdk.PromptArgument{{Name: "file", Required: true}, {Name: "style"}}}
	for line, want := range map[string]map[string]string{
		"a.go":                    {"file": "a.go"},
		"a.go short and plain":    {"file": "a.go", "style": "short and plain"},
		`"my file.go" "x y"`:      {"file": "my file.go", "style": "x y"},
		"style=short a.go":        {"style": "short", "file": "a.go"},
		`file="my file.go"`:       {"file": "my file.go"},
		"other=1":                 {"file": "other=1"},
		"":                        nil,
		"style=short":             nil,
		"file=a style=b one more": nil,
	} {
		got, err := arguments(p, line)
		if (err != nil) != (want == nil) || !maps.Equal(got, want) {
			t.Errorf("%q gave %q, %v", line, got, err)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	say := func(role sdk.Role, text string) *sdk.PromptMessage {
		return &sdk.PromptMessage{Role: role, Content: &sdk.TextContent{Text: text}}
	}
	for want, list := range map[string][]*sdk.PromptMessage{
		"a\n\nExample of an answer:\nb":         {say("user", "a\u202e"), say("assistant", "b")},
		"error: empty":                          {},
		"error: more":                           {say("user", strings.Repeat("a", mostText+1))},
		"[content that is no text is left out]": {{Role: "user", Content: &sdk.ImageContent{MIMEType: "image/png"}}},
	} {
		got, err := text(&sdk.GetPromptResult{Messages: list})
		if reason, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v", want, err)
			}
		} else if got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}
