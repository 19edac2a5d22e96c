package protected

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	kinds := map[string]int{}
	for _, n := range Names() {
		key := n.Kind + " " + strings.ToLower(n.Text)
		if n.Text == "" || !n.Loaded && seen[key] || strings.Count(n.Text, "/") > 1 {
			t.Errorf("%q stands twice, is empty or too deep", key)
		}
		seen[key] = true
		if (n.Reason == "") != (n.Kind == "passes") {
			t.Errorf("%s: reason %q", n.Text, n.Reason)
		}
		if about := strings.Contains(n.Reason, "agents") || strings.Contains(n.Reason, "editor"); about && n.Kind != "ending" && !n.Loaded && !strings.HasPrefix(n.Source, "https://") {
			t.Errorf("%s has no source", n.Text)
		}
		if n.Runs && strings.Contains(n.Text, "/") && n.Kind != "path" {
			t.Errorf("%s: only a name in a workspace folder can be read-only", n.Text)
		}
		kinds[n.Kind]++
	}
	for kind, least := range map[string]int{"folder": 60, "path": 150, "ending": 6, "passes": 1} {
		if kinds[kind] < least {
			t.Errorf("only %d names of the kind %q", kinds[kind], kind)
		}
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parent, name    string
		protected, runs bool
	}{
		{"ws", ".vscode", true, true}, {"ws", ".VSCode", true, true}, {"ws", "AGENTS.md", true, false}, {"ws", "claude.local.md", true, false},
		{".github", "hooks", true, false}, {".github", "workflows", false, false}, {"src", "hooks", false, false}, {".cargo", "config.toml", true, false}, {"ws", "config.toml", false, false},
		{"ws", "x.code-workspace", true, true}, {"ws", "a.Prompt.md", true, false}, {"ws", "main.go", false, false}, {".github", "agents", true, false}, {"ws", "", false, false},
		{"ws", strings.Repeat("x", 300), false, false},
	} {
		if is, runs := Is(c.parent, c.name); is != c.protected || runs != c.runs || is && !May(c.name) {
			t.Errorf("%s/%s: %v, %v", c.parent, c.name, is, runs)
		}
	}
}
