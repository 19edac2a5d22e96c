package checkpoint

import (
	"strings"
	"testing"
	"unicode/utf16"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	wide := func(s string) string {
		var out strings.Builder
		out.WriteString("\xff\xfe")
		for _, u := range utf16.Encode([]rune(s)) {
			out.WriteByte(byte(u))
			out.WriteByte(byte(u >> 8))
		}
		return out.String()
	}
	const conflict = "CONFLICT"
	for _, x := range []struct{ name, base, ours, theirs, want string }{
		{"elsewhere", "a\nb\nAGENT\nc\nd\n", "mine\na\nb\nAGENT\nc\nd\n", "a\nb\nc\nd\n", "mine\na\nb\nc\nd\n"},
		{"behind its lines", "a\nAGENT\n", "a\nAGENT\nmine\n", "a\n", "a\nmine\n"},
		{"before its lines", "a\nAGENT\n", "a\nmine\nAGENT\n", "a\n", "a\nmine\n"},
		{"behind what it replaced", "a\nAGENT\nb\n", "a\nAGENT\nmine\nb\n", "a\nold\nb\n", "a\nold\nmine\nb\n"},
		{"between its lines", "a\nONE\nTWO\n", "a\nONE\nmine\nTWO\n", "a\n", conflict},
		{"the same line", "a\nAGENT\n", "a\nmine\n", "a\nold\n", conflict},
		{"at the place of what it removed", "a\nb\n", "a\nmine\nb\n", "a\nold\nb\n", conflict},
		{"taken out by hand", "a\nAGENT\nb\n", "a\nb\nmine\n", "a\nb\n", "a\nb\nmine\n"},
		{"partly taken out by hand", "a\nONE\nTWO\nTHREE\nb\n", "a\nONE\nTHREE\nb\nmine\n", "a\nb\n", "a\nb\nmine\n"},
		{"more is removed", "a\nONE\nTWO\nb\nc\n", "a\nONE\nc\n", "a\nb\nc\n", "a\nc\n"},
		{"a new file", "ONE\nTWO\n", "ONE\nTWO\nmine\n", "", "mine\n"},
		{"no end", "a\nAGENT", "a\nAGENT\nmine", "a", "a\nmine"},
		{"no end, and mine has one", "a\nAGENT", "a\nAGENT\nmine\n", "a\n", "a\nmine\n"},
		{"only the end", "a\nb", "mine\na\nb", "a\nb\n", "mine\na\nb\n"},
		{"other ends of lines", "a\nAGENT\nb\n", "a\r\nAGENT\r\nb\r\nmine\r\n", "a\nb\n", "a\r\nb\r\nmine\r\n"},
		{"Latin-1", "\xe4\nAGENT\n", "\xe4\nAGENT\n\xf6\n", "\xe4\n", "\xe4\n\xf6\n"},
		{"UTF-16", wide("a\nAGENT\nb\n"), wide("a\nAGENT\nb\nmine\n"), wide("a\nb\n"), wide("a\nb\nmine\n")},
		{"no text", "a\x00\x01\x02\x03\nb", "a\x00\x01\x02\x03\nb\nc\n", "a\x00\x01\x02\x03", conflict},
		{"nothing of mine", "a\nAGENT\n", "a\nAGENT\n", "a\n", "a\n"},
	} {
		merged, ok := mergeTexts([]byte(x.base), []byte(x.ours), []byte(x.theirs))
		got := string(merged)
		if !ok {
			got = conflict
		}
		if got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}
