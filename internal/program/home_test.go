package program

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestInHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for text, want := range map[string]string{
		"~": "HOME", "~/a b": "HOME/a b", "--config=~/x": "--config=HOME/x", "~other/x": "~other/x", "a~/x": "a~/x", "": "", "x=~/y": "x=~/y", "~~": "~~", "-c": "-c",
	} {
		if got := InHome(text); got != strings.ReplaceAll(want, "HOME", home) {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	list := func(all ...string) string { return strings.Join(all, string(filepath.ListSeparator)) }
	for text, want := range map[string]string{
		list("~/bin", "/usr/bin", "~"): list("HOME/bin", "/usr/bin", "HOME"), "~/x": "HOME/x", "plain": "plain", "https://~/x:1": "https://~/x:1",
	} {
		if got := ListInHome(text); got != strings.ReplaceAll(want, "HOME", home) {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}
