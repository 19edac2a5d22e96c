package spelling

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNear(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		names []string
		want  []string
	}{
		{"modle", []string{"mode", "model", "module"}, []string{"model", "mode", "module"}}, // a mistake each, the same length first
		{"MODEL", []string{"model"}, []string{"model"}},
		{"tets", []string{"text", "test"}, []string{"test"}}, // swapped; two replaced letters of four are too many
		{"comp", []string{"complete", "comp2"}, []string{"complete", "comp2"}},
		{"x", []string{"a", "y", "xy"}, nil},
		{"ab", []string{"a", "b"}, nil},
		{"hooks", []string{"hocks", "books"}, []string{"hocks", "books"}},
		{"hooks", []string{"books", "hocks"}, []string{"hocks", "books"}}, // the first letter is rarely wrong
		{"größe", []string{"grösse"}, []string{"grösse"}},
		{"a_very_long_naem_of_a_setting", []string{"a_very_long_name_of_a_setting", "other"}, []string{"a_very_long_name_of_a_setting"}},
		{"mode", []string{"mode1", "mode2", "mode3", "mode4"}, []string{"mode1", "mode2", "mode3"}},
		{"\xff\xfe\xfd", []string{"abc"}, nil},
		{"", []string{"", "abc"}, []string{""}},
	} {
		if got := Near(tc.name, tc.names); !slices.Equal(got, tc.want) {
			t.Errorf("%q of %q: %q, want %q", tc.name, tc.names, got, tc.want)
		}
	}
}

func TestLikely(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		names []string
		want  []string
	}{
		{"file_path", []string{"pattern", "path"}, []string{"path"}},
		{"file_read", []string{"web_search", "read_file", "write_file"}, []string{"read_file", "write_file"}},
		{"paht", []string{"file_paht", "path"}, []string{"path", "file_paht"}}, // a misspelling first
		{"nothing", []string{"path"}, nil},
	} {
		if got := Likely(tc.name, tc.names); !slices.Equal(got, tc.want) {
			t.Errorf("%q of %q: %q, want %q", tc.name, tc.names, got, tc.want)
		}
	}
}

// TestOneMistake makes a mistake in a name of five characters or more: the name is found.
func TestOneMistake(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abcdeé")), 5, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		name := []rune(word.Draw(t, "name"))
		wrong := slices.Clone(name)
		at := rapid.IntRange(0, len(name)-2).Draw(t, "at")
		switch rapid.SampledFrom([]string{"swap", "drop", "add", "replace"}).Draw(t, "mistake") {
		case "swap":
			wrong[at], wrong[at+1] = wrong[at+1], wrong[at]
		case "drop":
			wrong = slices.Delete(wrong, at, at+1)
		case "add":
			wrong = slices.Insert(wrong, at, 'z')
		case "replace":
			wrong[at] = 'z'
		}
		if d, near := mistakes(string(wrong), string(name)); d > 1 || !near {
			t.Errorf("%q for %q: %d %v", string(wrong), string(name), d, near)
		}
	})
}
