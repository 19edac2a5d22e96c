package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGenerated compares the plugins' files with the output for the Go source.
func TestGenerated(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		} else if strings.ReplaceAll(string(got), "\r\n", "\n") != want {
			t.Errorf("%s is out of date: run go generate ./protocol", name)
		}
	}
}

// TestSaid checks the three forms in which a comment names types. If both packages use a name, it
// stays the protocol's.
func TestSaid(t *testing.T) {
	t.Parallel()
	v := &vocabulary{owner: map[string]string{"SessionInfo": "acp", "Plan": "acp", "Args": "protocol", "Result": "protocol"}}
	for _, c := range []struct{ pkg, comment, takes, gives string }{
		{"protocol", "Args → Result\n", "Args", "Result"},
		{"protocol", "It is a request: Args → Result.\n", "Args", "Result"},
		{"acp", "protocol.Args → protocol.SessionInfo", "Args", "LspSessionInfo"},
		{"acp", "notification of the agent: Plan", "Plan", ""},
		{"acp", "Plan", "Plan", ""},
		{"acp", "notification", "", ""},
		{"acp", "a word to the user", "", ""},
	} {
		if takes, gives := v.commentTypes(c.pkg, c.comment); takes != c.takes || gives != c.gives {
			t.Errorf("said(%q) = %q, %q; want %q, %q", c.comment, takes, gives, c.takes, c.gives)
		}
	}
}
