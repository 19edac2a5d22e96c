package textenc

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/textenc/texttest"
)

func TestGapBufferLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := NewGapBuffer([]byte(texttest.Texts().Draw(t, "text")))
		for range 10 {
			from := rapid.IntRange(0, text.Len()).Draw(t, "from")
			to := rapid.IntRange(from, text.Len()).Draw(t, "to")
			text.Replace(from, to, []byte(texttest.Texts().Draw(t, "with")))
			for line, want := range lineStarts(text.Bytes()) {
				if got, ok := text.lineStart(line); !ok || got != want {
					t.Fatalf("%q: line %d starts at %d, %v; want %d", text.Bytes(), line, got, ok, want)
				}
			}
			if _, more := text.lineStart(len(lineStarts(text.Bytes()))); more {
				t.Fatalf("%q: a line too many", text.Bytes())
			}
		}
	})
}
