package workspace

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestWidened(t *testing.T) {
	t.Parallel()
	w, d, s := "["+wideWord+"]", "["+wideDigit+"]", "["+wideSpace+"]"
	for source, want := range map[string]string{
		`a\w+`:          "a" + w + "+",
		`\d\s`:          d + s,
		`\W`:            "[^" + wideWord + "]",
		`[\w-]`:         "[" + wideWord + "-]",
		`[^]\s]x\d`:     "[^]" + wideSpace + "]x" + d,
		`[]\d]\d`:       "[]" + wideDigit + "]" + d,
		`[\D\W]`:        `[\P{Nd}\W]`,
		`[[:alpha:]]\w`: "[[:alpha:]]" + w,
		`\\w\[\w`:       `\\w\[` + w,
		`\Q\w\E\w`:      `\Q\w\E` + w,
		`\Q\w`:          `\Q\w`,
		`\bfoo\b.`:      `\bfoo\b.`,
		`é\`:            `é\`,
	} {
		if got := widened(source); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

// Both engines know the letters, digits and space of all scripts.
func TestSearchBeyondASCII(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFiles(t, dir, map[string]string{"a.txt": "plain = 1\né\ncafé au\u00a0lait\n٣٤٥ x\nnaïve_wörd=12\n\u3000\nἄλφα beta\n", "b.txt": "ascii only = 22\n"})
	for _, pattern := range []string{`^\w$`, `\w+é`, `\d{3}`, `^\s$`, `au\slait`, `^[\w=]+$`, `\w\w\w\w\s\w`, `^\W`, `[^\w\s]`, `^\D+$`, `[\p{Greek}]\S`, `\w+ = \d+`, `=\s?\d\d`, `.\w_w`, `-?-\w*|é`, `--\d|=`} {
		counts := map[bool]string{}
		for _, ripgrep := range []bool{true, false} {
			w := openDirs(t, nil, dir)
			if ripgrep {
				w.Ripgrep = rg(t)
			}
			found, err := w.Search(t.Context(), Query{Pattern: pattern})
			must(t, err)
			for _, m := range found.Matches {
				counts[ripgrep] += fmt.Sprintf("%s:%d ", filepath.Base(m.Path), m.Line)
			}
		}
		if counts[true] != counts[false] || counts[true] == "" {
			t.Errorf("%s: rg found %s, we %s", pattern, counts[true], counts[false])
		}
	}
}
