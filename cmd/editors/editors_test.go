package editors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSnippets wants each snippet to be in the page of its editor, and Show to write it.
func TestSnippets(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	Show(&shown, all)
	for _, e := range all {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", e.Page))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), e.Snippet) {
			t.Errorf("%s does not have\n%s", e.Page, e.Snippet)
		}
		for _, line := range append(strings.Split(e.Snippet, "\n"), e.Name+": "+pages+e.Page) {
			if !strings.Contains(shown.String(), line) {
				t.Errorf("Show does not write %q", line)
			}
		}
	}
}

func TestFound(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if found := Found(); len(found) != 0 {
		t.Errorf("without programs: %v", found)
	}
	program := filepath.Join(os.Getenv("PATH"), "hx")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if found := Found(); len(found) != 1 || found[0].Name != "Helix" {
		t.Errorf("with hx: %v", found)
	}
}
