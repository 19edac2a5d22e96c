package sandbox

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

func TestCommandInAFolderThatIsGone(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "old")
	b := New(Config{Roots: func() []string { return []string{gone} }})
	t.Cleanup(func() { b.Close() })
	err := b.Confine(t.Context(), &proc.Cmd{Args: []string{"/bin/true"}})
	if err == nil || !strings.Contains(err.Error(), gone+" does not exist") || !strings.Contains(err.Error(), "hermes-ls sessions move "+gone) {
		t.Error(err)
	}
}
