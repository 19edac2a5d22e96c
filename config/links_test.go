//go:build unix

package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/safefile/hostile"
)

// TestLinkedConfiguration checks links. The user's file may link to any file, a
// repository's file only into its folder.
func TestLinkedConfiguration(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		target string // of the repository's file
		want   string // model.default
	}{
		"within":  {"../settings.yaml", "theirs"},
		"outside": {"../../outside.yaml", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			home, folder := filepath.Join(top, "home"), filepath.Join(top, "ws")
			for path, text := range map[string]string{
				"dotfiles/config.yaml": "agent: {max_turns: 7}\n",
				"outside.yaml":         "model: {default: stolen}\n",
				"ws/settings.yaml":     "model: {default: theirs}\n",
				"ws/.hermes/x":         "", "home/x": "",
			} {
				path = filepath.Join(top, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("../dotfiles/config.yaml", Path(home)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(tc.target, filepath.Join(folder, ".hermes", "config.yaml")); err != nil {
				t.Fatal(err)
			}
			l := Load(home, Options{Folders: []string{folder}})
			if strings.Contains(fmt.Sprint(l.Model), "stolen") || name == "within" && l.Model.Default != tc.want {
				t.Errorf("model.default is %q", l.Model.Default)
			}
			if told := fmt.Sprint(l.Problems); name == "outside" && !strings.Contains(told, "cannot be read") {
				t.Errorf("problems: %s", told)
			}
			if strings.Contains(fmt.Sprint(l.Problems), filepath.Join("home", "config.yaml")+": cannot") {
				t.Errorf("the user's own link: %v", l.Problems)
			}
		})
	}
}

// TestHostileConfiguration checks that other things in place of a settings file are only a problem.
func TestHostileConfiguration(t *testing.T) {
	t.Parallel()
	for _, thing := range hostile.Obstacles(t) {
		t.Run(thing.Name, func(t *testing.T) {
			t.Parallel()
			home, folder := t.TempDir(), t.TempDir()
			files := []string{Path(home), EnvPath(home), filepath.Join(folder, ".hermes", "config.yaml")}
			for _, file := range files {
				thing.Put(t, file)
			}
			l := Load(home, Options{Folders: []string{folder}})
			told := fmt.Sprint(l.Problems)
			for _, file := range files {
				if !strings.Contains(told, file+": cannot be read: ") {
					t.Errorf("%s is not among the problems: %s", file, told)
				}
			}
			if !l.Broken {
				t.Error("the user's file is not called broken")
			}
		})
	}
}
