package workspace

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

var encodings = []Encoding{UTF8, UTF16, UTF32}

// texts draws texts with what is hard about positions: every kind of line end,
// characters of every width, bytes that are no UTF-8.
func texts() *rapid.Generator[string] {
	pieces := []string{"\n", "\r\n", "\r", "a", "bc", " ", "é", "€", "😀", "\xff", "\xe2\x82", "line\n", "line\r\n"}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces"), "")
	})
}

func ranges() *rapid.Generator[Range] {
	return rapid.Custom(func(t *rapid.T) Range {
		position := func(name string) Position {
			return Position{rapid.Uint32Range(0, 12).Draw(t, name+".line"), rapid.Uint32Range(0, 12).Draw(t, name+".character")}
		}
		return Range{position("start"), position("end")}
	})
}

// applied is what a range edit means, said the slow and simple way.
func applied(text string, r Range, with string, enc Encoding) string {
	from, to := Offset([]byte(text), r.Start, enc), Offset([]byte(text), r.End, enc)
	return text[:min(from, to)] + with + text[max(from, to):]
}

func TestChangesAgreeWithPlainText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		enc := rapid.SampledFrom(encodings).Draw(t, "encoding")
		want := texts().Draw(t, "text")
		b := NewBuffers()
		b.Open("/f", 1, want)
		for version := int32(2); version < 12; version++ {
			r, with := ranges().Draw(t, "range"), texts().Draw(t, "with")
			want = applied(want, r, with, enc)
			if err := b.Change("/f", version, []Change{{&r, with}}, enc); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "look") {
				if doc, _ := b.Get("/f"); string(doc.Text) != want || doc.Version != version {
					t.Fatalf("%q at %d, want %q at %d", doc.Text, doc.Version, want, version)
				}
			}
		}
		if doc, _ := b.Get("/f"); string(doc.Text) != want {
			t.Fatalf("%q, want %q", doc.Text, want)
		}
	})
}

func TestGapTextLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := newGapText([]byte(texts().Draw(t, "text")))
		for range 10 {
			from := rapid.IntRange(0, text.len()).Draw(t, "from")
			to := rapid.IntRange(from, text.len()).Draw(t, "to")
			text.replace(from, to, []byte(texts().Draw(t, "with")))
			for line, want := range lineStarts(text.bytes()) {
				if got, ok := text.lineStart(line); !ok || got != want {
					t.Fatalf("%q: line %d starts at %d, %v; want %d", text.bytes(), line, got, ok, want)
				}
			}
			if _, more := text.lineStart(len(lineStarts(text.bytes()))); more {
				t.Fatalf("%q: a line too many", text.bytes())
			}
		}
	})
}

func TestBuffers(t *testing.T) {
	t.Parallel()
	b := NewBuffers()
	if err := b.Change("/none", 1, nil, UTF16); !errors.Is(err, ErrNotOpen) {
		t.Errorf("Change of what is not open = %v", err)
	}
	b.Open("/b", 1, "one\ntwo\n")
	b.Open("/a", 1, "")
	if got := b.Paths(); !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("Paths = %q", got)
	}
	before, _ := b.Get("/b")
	at := func(line, from, to uint32) *Range { return &Range{Position{line, from}, Position{line, to}} }
	// The second change is in positions of what the first one leaves.
	must(t, b.Change("/b", 2, []Change{{at(0, 0, 3), "1\n1.5"}, {at(2, 0, 9), "2"}}, UTF16))
	after, ok := b.Get("/b")
	if !ok || string(after.Text) != "1\n1.5\n2\n" || after.Version != 2 || after.Path != "/b" {
		t.Errorf("Get = %q, %v", after, ok)
	}
	if string(before.Text) != "one\ntwo\n" {
		t.Errorf("a document that was handed out has changed: %q", before.Text)
	}
	must(t, b.Change("/b", 3, []Change{{nil, "whole"}, {at(0, 5, 5), "!"}}, UTF16))
	if doc, _ := b.Get("/b"); string(doc.Text) != "whole!" {
		t.Errorf("Get = %q", doc.Text)
	}
	b.Close("/b")
	if _, ok := b.Get("/b"); ok {
		t.Error("a closed document is there")
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(b *Buffers, cancel func())
		want      string
		err       error
	}{
		"changed":  {func(b *Buffers, _ func()) { _ = b.Change("/f", 2, []Change{{nil, "new"}}, UTF16) }, "new", nil},
		"closed":   {func(b *Buffers, _ func()) { b.Close("/f") }, "", ErrNotOpen},
		"reopened": {func(b *Buffers, _ func()) { b.Open("/f", 7, "again") }, "again", nil},
		"cancel":   {func(_ *Buffers, cancel func()) { cancel() }, "", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b := NewBuffers()
				b.Open("/f", 1, "old")
				if doc, err := b.Await(ctx, "/f", 0); err != nil || string(doc.Text) != "old" {
					t.Errorf("Await of what is there = %q, %v", doc.Text, err)
				}
				done := make(chan struct{})
				for range 2 {
					go func() {
						doc, err := b.Await(ctx, "/f", 1)
						if string(doc.Text) != test.want || !errors.Is(err, test.err) {
							t.Errorf("Await = %q, %v", doc.Text, err)
						}
						done <- struct{}{}
					}()
				}
				synctest.Wait() // both are waiting
				test.meanwhile(b, cancel)
				<-done
				<-done
			})
		})
	}
	if _, err := NewBuffers().Await(t.Context(), "/none", 0); !errors.Is(err, ErrNotOpen) {
		t.Errorf("Await of nothing = %v", err)
	}
}

// One keystroke, in documents of several sizes: the ratios should stay near one.
func BenchmarkChange(b *testing.B) {
	for _, size := range []struct {
		name  string
		lines int
	}{{"1k", 1000}, {"100k", 100_000}} {
		b.Run(size.name, func(b *testing.B) {
			buffers := NewBuffers()
			buffers.Open("/f", 0, strings.Repeat("func main() { println() }\n", size.lines))
			at := Position{uint32(size.lines / 2), 3}
			key := []Change{{&Range{at, at}, "x"}}
			back := []Change{{&Range{at, Position{at.Line, 4}}, ""}}
			for i := 0; b.Loop(); i += 2 {
				_ = buffers.Change("/f", int32(i), key, UTF16)
				_ = buffers.Change("/f", int32(i+1), back, UTF16)
			}
		})
	}
}
