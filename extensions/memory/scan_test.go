package memory

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// TestThreats checks each kind with its examples, also in capitals and over several lines.
func TestThreats(t *testing.T) {
	t.Parallel()
	if n := len(threats()); n < 20 {
		t.Errorf("only %d kinds", n)
	}
	for _, kind := range threats() {
		if kind.reason == "" || len(kind.patterns) == 0 || len(kind.blocked) == 0 || len(kind.allowed) == 0 {
			t.Errorf("%s is not complete", kind.name)
		}
		for _, text := range kind.blocked {
			for _, form := range []string{text, strings.ToUpper(text), "A fact. " + text, strings.ReplaceAll(text, " ", "\n  ")} {
				if poisoned(form) == "" {
					t.Errorf("%s: %q is not blocked", kind.name, form)
				}
			}
		}
		for _, text := range kind.allowed {
			if reason := poisoned(text); reason != "" {
				t.Errorf("%s: %q is blocked: %s", kind.name, text, reason)
			}
		}
	}
}

// TestOrdinaryTexts checks that no paragraph of the project's documentation, instructions and
// skills is blocked.
func TestOrdinaryTexts(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	// These are about attacks, settings of approvals, or keys of the agent.
	about := []string{"safety.md", "SECURITY.md", "approvals.md", "CHANGELOG.md"}
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "extensions/skills/bundled/*/SKILL.md", "extensions/*/*.md", "tools/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files", len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(strings.NewReader(string(data)))
		for lines.Scan() {
			if reason := poisoned(lines.Text()); reason != "" && !strings.Contains(strings.Join(about, " "), filepath.Base(file)) {
				t.Errorf("%s: %s: %s", file, reason, lines.Text())
			}
		}
	}
}
