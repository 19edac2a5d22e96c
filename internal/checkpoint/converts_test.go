package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
)

// Contents of files are kept, not taken from git, if any settings convert them: of the repository, the user,
// or a file that these include.
func TestConvertingSettings(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       bool
	}{
		"none":                 {"home/.gitconfig", "[core]\n\teditor = vi\n", false},
		"of the user":          {"home/.gitconfig", "[core]\n\tautocrlf = input\n", true},
		"of the XDG folder":    {"xdg/git/config", "[core]\n\tautoCRLF = true\n", true},
		"without an XDG":       {"home/.config/git/config", "[core]\n\tautocrlf = true\n", false}, // XDG_CONFIG_HOME replaces it
		"of GIT_CONFIG_GLOBAL": {"global", "[core]\n\tattributesFile = a\n", true},
		"included":             {"home/work", "[core]\n\tautocrlf = true\n", true},
		"attributes":           {"xdg/git/attributes", "*.txt text=auto\n", true},
		"attributes of diffs":  {"xdg/git/attributes", "# text\n*.ipynb diff=jupyter\n", false},
		"of the repository":    {"common/info/attributes", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("HOME", filepath.Join(dir, "home"))
			t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
			t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "global"))
			path := filepath.Join(dir, c.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := converts([]byte("[include]\n\tpath = ~/work\n"), filepath.Join(dir, "common")); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}
