package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplayedFileChoosesNoPrivateFolder(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	home := filepath.Join(top, "home")
	for _, dir := range []string{"home/work/app/.github", "home/.ssh", "home/.config/app"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, ".ssh"), filepath.Join(home, "work", "link")); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{
		"home/work/app": true, "home/work": true, "home/work/app/.github": true,
		"home": false, ".": false, "home/.ssh": false, "home/.config/app": false, "home/work/link": false, "home/work/../.ssh": false, "gone": false,
	} {
		if err := mayCopy(home, filepath.Join(top, folder)); (err == nil) != want {
			t.Errorf("mayCopy(%s): %v", folder, err)
		}
	}
	for _, folder := range []string{"/", "", ".", "..", "work"} {
		if mayCopy(home, folder) == nil {
			t.Errorf("mayCopy(%q) has no error", folder)
		}
	}
}
