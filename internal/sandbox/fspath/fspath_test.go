package fspath

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestExisting(t *testing.T) {
	t.Parallel()
	dir := Real(t.TempDir())
	for _, name := range []string{"real/inner", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"link": "real", "real/up": "../other", "dangling": "nothing", "loop": "loop", "absolute": filepath.Join(dir, "real", "inner"),
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("links cannot be made here:", err)
		}
	}
	for _, tt := range []struct {
		path string
		want []string
	}{
		{"real", []string{"real"}},
		{"link", []string{"real"}},
		{"link/inner", []string{"real/inner"}},
		{"link/up", []string{"other"}},
		{"link/up/../real", []string{"real"}}, // ".." leaves the folder where the link led
		{"link/inner/..", []string{"real"}},
		{"absolute", []string{"real/inner"}},
		{"absolute/", []string{"real/inner"}},
		{"dangling", nil},
		{"dangling/inner", nil},
		{"loop", nil},
		{"nothing/inner", nil},
	} {
		want := make([]string, 0, 1)
		for _, name := range tt.want {
			want = append(want, filepath.Join(dir, name))
		}
		if got := Existing([]string{dir + "/" + tt.path}); !slices.Equal(got, want) {
			t.Errorf("Existing(%s) = %q, want %q", tt.path, got, want)
		}
	}
	all := []string{dir + "/link/inner", "/", "relative", dir + "/real/inner", dir + "/link", dir + "/dangling"}
	if got, want := Existing(all), []string{"/", dir + "/real", dir + "/real/inner"}; !slices.Equal(got, want) {
		t.Errorf("Existing(%q) = %q, want %q", all, got, want)
	}
}
