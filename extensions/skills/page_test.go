package skills

import (
	"os"
	"strings"
	"testing"
)

// TestPage checks that docs/skills.md lists each bundled skill.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/skills.md")
	if err != nil {
		t.Fatal(err)
	}
	bundled, err := os.ReadDir("bundled")
	if err != nil || len(bundled) < 8 {
		t.Fatalf("%d skills: %v", len(bundled), err)
	}
	for _, e := range bundled {
		if !strings.Contains(string(text), "`"+e.Name()+"`") {
			t.Errorf("docs/skills.md does not have the skill %s", e.Name())
		}
	}
}
