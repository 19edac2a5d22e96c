//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// If a command opens Neovim, there is no terminal: Neovim ends at once and names the alternative.
// With commands of its own, or without a user interface, it does its work.
func TestNeovimInACommand(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"nvim-0.10", "nvim-0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			nvim, err := filepath.EvalSymlinks(host(t, version))
			if err != nil {
				t.Fatal(err)
			}
			b := newBed(t, map[string]string{"a.txt": "one\n"})
			// The script names its installation folder. If the folder is below /tmp, commands do
			// not see it.
			script, err := os.ReadFile(nvim)
			if err != nil {
				t.Fatal(err)
			}
			folder := regexp.MustCompile(`/\S*?/` + regexp.QuoteMeta(version)).FindString(string(script))
			write(t, filepath.Join(b.home, "config.yaml"), "model: {provider: embedded}\nsandbox: {read: ["+filepath.Dir(nvim)+", "+folder+"]}\n")
			l := b.line(t)
			session := l.newSession(b.workspace)
			for command, want := range map[string]string{
				nvim + " a.txt; echo ended $?":                       "Vim has no terminal here, and was ended.",
				nvim + " -c %s/one/two/ -c wq a.txt; cat a.txt":      "two",
				nvim + " --headless -c %s/two/one/ -c wq a.txt; pwd": b.workspace,
			} {
				if result := l.ran(session, command); !strings.Contains(result, want) || strings.Contains(result, "timed out") {
					t.Errorf("%s: %s", command, result)
				}
			}
			if text, err := os.ReadFile(filepath.Join(b.workspace, "a.txt")); err != nil || strings.TrimSpace(string(text)) == "" {
				t.Errorf("%q, %v", text, err)
			}
			l.end()
		})
	}
}
