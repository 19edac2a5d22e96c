package file

import (
	"strings"
	"testing"
)

// FuzzReplace holds an edit against the plain replacement in the text as the
// model sees it, and against the bytes around it.
func FuzzReplace(f *testing.F) {
	for _, seed := range [][3]string{
		{"a\r\nb\nc\r\n", "b\nc", "x\ny"}, {"aaaa", "aa", "b"}, {"\r\n\r\n\r", "\n\n", ""}, {"x", "x", "\n"},
		{"a\r\nb", "a", "a\nc"}, {"\ufeffa\xff\r\n", "a", "é"}, {"a\rb\r\n", "b", "c\nd"},
	} {
		f.Add(seed[0], seed[1], seed[2], true)
		f.Add(seed[0], seed[1], seed[2], false)
	}
	seen := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		if old == "" || strings.Contains(old+new, "\r") {
			return
		}
		in := replacement{old: old, new: new, all: all}
		got, err := replace(t.Context(), text, in)
		if err != nil || got.count == 0 {
			if count := strings.Count(seen(text), old); count == 1 && strings.Index(seen(text), old) == strings.LastIndex(seen(text), old) || count > 0 && all {
				t.Fatalf("%q in %q was not replaced: %v", old, text, err)
			}
			return
		}
		want := strings.ReplaceAll(seen(text), old, new)
		// A lone CR may become half of a CRLF.
		alone, exact := strings.Contains(seen(text), "\r"), strings.Contains(seen(text), old)
		if !alone && exact && seen(got.text) != want {
			t.Fatalf("%q in %q by %q gave %q, which reads %q; want %q", old, text, new, got.text, seen(got.text), want)
		}
		found, err := find(t.Context(), text, replacement{old: old, new: new, all: all})
		if err != nil {
			t.Fatal(err)
		}
		spans := found.spans
		first, last := spans[0], spans[len(spans)-1]
		if !strings.HasPrefix(got.text, text[:first.start]) || !strings.HasSuffix(got.text, text[last.end:]) {
			t.Fatalf("%q in %q by %q touched what is around it: %q", old, text, new, got.text)
		}
	})
}

func BenchmarkReplace(b *testing.B) {
	text := strings.Repeat("some line of text\r\n", 50_000) + "here\r\nit is\r\n"
	for b.Loop() {
		if _, err := replace(b.Context(), text, replacement{old: "here\nit is", new: "there"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNoMatch(b *testing.B) {
	text := strings.Repeat("some line of text that is like others\n", 20_000)
	for b.Loop() {
		if _, err := replace(b.Context(), text, replacement{old: "some lime of tent\nthat is", new: "there"}); err == nil {
			b.Fatal("found")
		}
	}
}
