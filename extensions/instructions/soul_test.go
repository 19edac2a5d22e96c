package instructions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUntouchedSoul checks that the default SOUL.md of Hermes Agent 0.19 is no persona, and that
// every change of it is.
func TestUntouchedSoul(t *testing.T) {
	t.Parallel()
	written, err := os.ReadFile("testdata/hermes-soul.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(written)
	for name, c := range map[string]struct{ text, want string }{
		"as written":        {text, ""},
		"other line ends":   {"\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") + "\r\n", ""},
		"with an own line":  {text + "\nSpeak like a pirate.", text + "\nSpeak like a pirate."},
		"only own text":     {"Speak like a pirate.", "Speak like a pirate."},
		"without its start": {text[10:], text[10:]},
	} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, soulName), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readSoul(home); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
