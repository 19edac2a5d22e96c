package tools

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// onScreen returns the text left on the screen after written, in pieces of n bytes.
func onScreen(written string, n int) string {
	var b strings.Builder
	p := plainText{out: func(text []byte) { b.Write(text) }}
	for len(written) > 0 {
		k := min(n, len(written))
		p.Write([]byte(written[:k])) // it never fails
		written = written[k:]
	}
	p.Close()
	return b.String()
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, written, want string }{
		{"plain", "one\ntwo\n\tthree", "one\ntwo\n\tthree"},
		{"unicode", "héllo 世界 🎉\n", "héllo 世界 🎉\n"},
		{"colours", "\x1b[1;31mred\x1b[0m and \x1b[38;5;2mgreen\x1b[m", "red and green"},
		{"private mode", "\x1b[?25lhidden\x1b[?2004h", "hidden"},
		{"title", "\x1b]0;title\x07text", "text"},
		{"clipboard", "\x1b]52;c;c2VjcmV0\x1b\\text", "text"},
		{"link", "\x1b]8;;http://x\x1b\\name\x1b]8;;\x1b\\", "name"},
		{"device control", "\x1bPq#0;2\x1b\\text", "text"},
		{"charset", "\x1b(Btext\x1b=\x1b>\x1bM", "text"},
		{"C1 sequence", "\u009b31mred\u009b0m", "red"},
		{"C1 clipboard", "\u009d52;c;eA==\u009ctext", "text"},
		{"C1 alone", "a\u0085b\u0084c", "abc"},
		{"raw C1 bytes", "a\x9bb", "a\uFFFDb"},
		{"string that never ends", "a\x1b]0;swallows\nnot this", "a\nnot this"},
		{"string given up", "\x1b]0;x\x18text", "text"},
		{"escape in a string", "\x1b]0;x\x1b[31mred", "red"},
		{"broken off by a line", "\x1b[31\nred", "\nred"},
		{"escape at the end", "text\x1b", "text"},
		{"sequence at the end", "text\x1b[3", "text"},
		{"controls", "a\x00b\x07c\x7fd\x0ee", "abcde"},
		{"CRLF", "one\r\ntwo\r\r\nthree\r\n", "one\ntwo\nthree\n"},
		{"progress", "10%\r50%\r100%\ndone\n", "100%\ndone\n"},
		{"progress, last state stays", "10%\r50%\r", "50%"},
		{"progress with erase", "\r\x1b[Kone\r\x1b[Ktwo\n", "two\n"},
		{"spinner", "|\b/\b-\bdone\n", "done\n"},
		{"backspace over a character", "世\bx\b\b\b", ""},
		{"bad UTF-8", "a\xffb\xc3(", "a\uFFFDb\uFFFD("},
		{"cut character at the end", "a\xe4\xb8", "a\uFFFD"},
		{"empty", "", ""},
	} {
		for _, n := range []int{1, 2, 3, 1000} {
			if got := onScreen(tt.written, n); got != tt.want {
				t.Errorf("%s, %d bytes at a time: %q, want %q", tt.name, n, got, tt.want)
			}
		}
	}
	long := strings.Repeat("x", 3*longLine)
	if got := onScreen(long+"\rlast\n", 1000); !strings.HasSuffix(got, "last\n") || len(got) < 2*longLine {
		t.Errorf("a long line became %d bytes ending in %q", len(got), got[max(0, len(got)-10):])
	}
}

func FuzzPlainText(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]0;t\x07x", "a\rb\bc", "\xe4\xb8\xad\xff", "\u009b1m\x1bP\x1b\\"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, written string, n int) {
		got := onScreen(written, max(1, n))
		if !utf8.ValidString(got) {
			t.Errorf("%q is no UTF-8", got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }); i >= 0 {
			t.Errorf("%q holds a control character at %d", got, i)
		}
		if whole := onScreen(written, max(1, len(written))); whole != got {
			t.Errorf("in pieces %q, whole %q", got, whole)
		}
	})
}

func BenchmarkPlainText(b *testing.B) {
	for name, line := range map[string]string{"ascii": "a line of ordinary output, some eighty characters long, as compilers write them\n",
		"colours": "\x1b[32mok\x1b[0m  \tgithub.com/x/y\t\x1b[1m0.5s\x1b[0m 世界\n"} {
		b.Run(name, func(b *testing.B) {
			text := []byte(strings.Repeat(line, 400))
			p := plainText{out: func([]byte) {}}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				p.Write(text) // it never fails
			}
		})
	}
}
