package tools

import (
	"fmt"
	"strings"
	"testing"
)

func TestBriefError(t *testing.T) {
	t.Parallel()
	n := func(from, to int) string {
		var words []string
		for i := from; i <= to; i++ {
			words = append(words, fmt.Sprint("w", i))
		}
		return strings.Join(words, " ")
	}
	data := "\n" + n(1, 90) + "\n" + n(1, 90) + "\n"
	for in, want := range map[string]string{
		"":                             "",
		" two  words\t":                " two  words\t",
		n(1, 60):                       n(1, 60),
		n(1, 61):                       n(1, 35) + " […] " + n(38, 61),
		"é, " + n(2, 200) + ".":        "é, " + n(2, 35) + " […] " + n(177, 200) + ".",
		n(1, 30) + data + n(1, 30):     n(1, 30) + data + n(1, 30),
		n(1, 80) + data + n(1, 10):     n(1, 49) + " […]" + data + n(1, 10),
		n(1, 80) + data + n(1, 80):     n(1, 34) + " […]" + data + "[…] " + n(57, 80),
		n(1, 40) + data + n(1, 40):     n(1, 34) + " […]" + data + "[…] " + n(17, 40),
		n(1, 10) + data:                n(1, 10) + data,
		"a line\n" + n(1, 3) + "\nend": "a line\n" + n(1, 3) + "\nend",
	} {
		got := BriefError(in)
		if got != want {
			t.Errorf("%q:\n got %q\nwant %q", in, got, want)
		}
		lines := strings.Split(got, "\n")
		count := len(strings.Fields(lines[0]))
		if len(lines) > 1 {
			count += len(strings.Fields(lines[len(lines)-1]))
		}
		if count > errorWords {
			t.Errorf("%d words: %q", count, got)
		}
	}
}
