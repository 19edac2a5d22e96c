package escape

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                  "",
		"ls -l":                             "ls -l",
		`echo "a\n"`:                        `echo "a\n"`,
		"a\nb\tc":                           "a⏎b⇥c",
		"a\x1b[31mb":                        "a⟨U+001B⟩[31mb",
		"a\rb\x00\x7f\u0085":                "a⟨U+000D⟩b⟨U+0000⟩⟨U+007F⟩⟨U+0085⟩",
		"a\u202eb\u2066c\u200bd\ufeff":      "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+FEFF⟩",
		"ｒｍ -rf ／":                          "⟨U+FF52⟩⟨U+FF4D⟩ -rf ⟨U+FF0F⟩",
		"ls" + strings.Repeat(" ", 40):      "ls⟨40 spaces⟩",
		"ls" + strings.Repeat("\n", 30):     "ls⟨30 line ends⟩",
		"a\u00a0b\u3000c":                   "a⟨U+00A0⟩b⟨U+3000⟩c",
		"\xff\xfe":                          "⟨0xFF⟩⟨0xFE⟩",
		"⟨U+0041⟩ ⏎":                        "⟨U+27E8⟩U+0041⟨U+27E9⟩ ⟨U+23CE⟩",
		"pаypal":                            "p⟨U+0430⟩ypal", // a Cyrillic a
		"привет, 世界":                        "привет, 世界",
		"e\u0301":                           "e⟨U+0301⟩",
		"\U000e0041":                        "⟨U+E0041⟩",
		"a\u17b4b\u034fc\uffa0d\u3164":      "a⟨U+17B4⟩b⟨U+034F⟩c⟨U+FFA0⟩d⟨U+3164⟩",
		"x" + strings.Repeat(" ", 15) + "y": "x" + strings.Repeat(" ", 15) + "y",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

// unescape reverses Line, to show that nothing is lost.
func unescape(s string) string {
	s = regexp.MustCompile(`⟨[^⟩]*⟩|⏎|⇥`).ReplaceAllStringFunc(s, func(m string) string {
		switch m {
		case "⏎":
			return "\n"
		case "⇥":
			return "\t"
		}
		m = strings.TrimSuffix(strings.TrimPrefix(m, "⟨"), "⟩")
		if hex, ok := strings.CutPrefix(m, "U+"); ok {
			n, _ := strconv.ParseInt(hex, 16, 32)
			return string(rune(n))
		}
		if hex, ok := strings.CutPrefix(m, "0x"); ok {
			n, _ := strconv.ParseUint(hex, 16, 8)
			return string([]byte{byte(n)})
		}
		count, what, _ := strings.Cut(m, " ")
		n, _ := strconv.Atoi(count)
		return strings.Repeat(map[string]string{"spaces": " ", "line ends": "\n", "tabs": "\t"}[what], n)
	})
	return s
}

func FuzzLine(f *testing.F) {
	f.Add("a\nb\u202e\xff⟨" + strings.Repeat(" ", 20))
	f.Fuzz(func(t *testing.T, s string) {
		got := Line(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\t\r\x1b\x00") {
			t.Errorf("Line(%q) = %q", s, got)
		}
		if back := unescape(got); back != s {
			t.Errorf("Line(%q) = %q, which reads as %q", s, got, back)
		}
	})
}

// Text keeps visible characters, such as emoji, and escapes the rest.
func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\nb\tc 👨\u200d👩 ❤\ufe0f 1\ufe0f\u20e3 葛\U000e0100": "a\nb\tc 👨\u200d👩 ❤\ufe0f 1\ufe0f\u20e3 葛\U000e0100",
		"a\ufe0fb\U000e0100c\u17b4d\u034fe\uffa0f\u2800":     "a⟨U+FE0F⟩b⟨U+E0100⟩c⟨U+17B4⟩d⟨U+034F⟩e⟨U+FFA0⟩f⟨U+2800⟩",
		"葛\U000e0100\U000e0101":                              "葛\U000e0100⟨U+E0101⟩",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}
