package attachments

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for i := 1; i <= 40; i++ {
		text += fmt.Sprintf("line %d\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "a b.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	address := "file://" + filepath.ToSlash(dir) + "/a%20b.go"
	around := ""
	for i := 10; i <= 30; i++ {
		around += fmt.Sprintf("%d|line %d\n", i, i)
	}
	for _, tc := range []struct{ in, want agent.Resource }{
		{agent.Resource{URI: address}, agent.Resource{URI: "a b.go"}},
		{agent.Resource{URI: address, Text: "x\ny"}, agent.Resource{URI: "a b.go", Text: "1|x\n2|y"}},
		{agent.Resource{URI: address + "#L3-L4", Text: "e 3\nlin"}, agent.Resource{URI: "a b.go, lines 3-4", Text: "3|line 3\n4|line 4\n"}},
		{agent.Resource{URI: address + "#L3-L4", Text: "other\ntext\n"}, agent.Resource{URI: "a b.go, lines 3-4", Text: "3|other\n4|text\n"}},
		{agent.Resource{URI: address + "#L20"}, agent.Resource{URI: "a b.go, lines 10-30 (the cursor is on line 20)", Text: around}},
		{agent.Resource{URI: address + "#L20", Text: "line 20\n"}, agent.Resource{URI: "a b.go, lines 10-30 (the cursor is on line 20)", Text: around}},
		{agent.Resource{URI: address + "#L20", Text: "ine 2"}, agent.Resource{URI: "a b.go, lines 20-20", Text: "20|line 20\n"}},
		{agent.Resource{URI: address + "#diagnostics", Text: "bad"}, agent.Resource{URI: "a b.go, diagnostics", Text: "bad"}},
		{agent.Resource{URI: address + "#L90"}, agent.Resource{URI: "a b.go"}},
		{agent.Resource{URI: "file:///elsewhere/x#L1", Text: "x"}, agent.Resource{URI: "file:///elsewhere/x#L1", Text: "x"}},
		{agent.Resource{URI: "https://x.dev/a#L1", Text: "x"}, agent.Resource{URI: "https://x.dev/a#L1", Text: "x"}},
	} {
		got := Read(t.Context(), ws, []agent.Resource{tc.in})[0]
		got.Text = strings.TrimSuffix(got.Text, "\n")
		if tc.want.Text = strings.TrimSuffix(tc.want.Text, "\n"); got != tc.want {
			t.Errorf("%+v:\n%+v\nwant\n%+v", tc.in, got, tc.want)
		}
	}
}
