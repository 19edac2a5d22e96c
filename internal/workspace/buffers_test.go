package workspace

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/textenc/texttest"
)

var encodings = []textenc.Encoding{textenc.UTF8, textenc.UTF16, textenc.UTF32}

// applied replaces a range of a text in the slow and simple way.
func applied(text string, r textenc.Range, with string, enc textenc.Encoding) string {
	from, to := textenc.Offset([]byte(text), r.Start, enc), textenc.Offset([]byte(text), r.End, enc)
	return text[:min(from, to)] + with + text[max(from, to):]
}

func ranges() *rapid.Generator[textenc.Range] {
	return rapid.Custom(func(t *rapid.T) textenc.Range {
		position := func(name string) textenc.Position {
			return textenc.Position{Line: rapid.Uint32Range(0, 12).Draw(t, name+".line"), Character: rapid.Uint32Range(0, 12).Draw(t, name+".character")}
		}
		return textenc.Range{Start: position("start"), End: position("end")}
	})
}

func TestChangesAgreeWithPlainText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		enc := rapid.SampledFrom(encodings).Draw(t, "encoding")
		want := texttest.Texts().Draw(t, "text")
		b := NewBuffers()
		b.Open("/f", 1, want)
		for version := int32(2); version < 12; version++ {
			r, with := ranges().Draw(t, "range"), texttest.Texts().Draw(t, "with")
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

func TestBuffers(t *testing.T) {
	t.Parallel()
	b := NewBuffers()
	if err := b.Change("/none", 1, nil, textenc.UTF16); !errors.Is(err, ErrNotOpen) {
		t.Errorf("Change of what is not open = %v", err)
	}
	b.Open("/b", 1, "one\ntwo\n")
	b.Open("/a", 1, "")
	if got := b.Paths(); !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("Paths = %q", got)
	}
	before, _ := b.Get("/b")
	at := func(line, from, to uint32) *textenc.Range {
		return &textenc.Range{Start: textenc.Position{Line: line, Character: from}, End: textenc.Position{Line: line, Character: to}}
	}
	// The second change has positions in the result of the first.
	must(t, b.Change("/b", 2, []Change{{at(0, 0, 3), "1\n1.5"}, {at(2, 0, 9), "2"}}, textenc.UTF16))
	after, ok := b.Get("/b")
	if !ok || string(after.Text) != "1\n1.5\n2\n" || after.Version != 2 || after.Path != "/b" {
		t.Errorf("Get = %+v, %v", after, ok)
	}
	if string(before.Text) != "one\ntwo\n" {
		t.Errorf("a document that was handed out has changed: %q", before.Text)
	}
	must(t, b.Change("/b", 3, []Change{{nil, "whole"}, {at(0, 5, 5), "!"}}, textenc.UTF16))
	if doc, _ := b.Get("/b"); string(doc.Text) != "whole!" {
		t.Errorf("Get = %q", doc.Text)
	}
	b.Close("/b")
	if _, ok := b.Get("/b"); ok {
		t.Error("a closed document is there")
	}
}

// TestExpectAcrossReload: an editor that reloads a file at an edit closes and opens the document. The
// edit is recognized after that.
func TestExpectAcrossReload(t *testing.T) {
	t.Parallel()
	b := NewBuffers()
	b.Open("/f", 3, "old\n")
	forget := b.Expect("/f", []byte("new\n"))
	b.Close("/f")
	b.Open("/f", 0, "old\n")
	if b.Reached("/f") {
		t.Error("the old text counts as the edit")
	}
	must(t, b.Change("/f", 1, []Change{{Text: "new\n"}}, textenc.UTF16))
	if !b.Reached("/f") {
		t.Error("the edit is not recognized")
	}
	forget()
	b.Open("/f", 0, "new\n")
	if b.Reached("/f") {
		t.Error("an edit is recognized after it was forgotten")
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(b *Buffers, cancel func())
		want      string
		err       error
	}{
		"changed":  {func(b *Buffers, _ func()) { _ = b.Change("/f", 2, []Change{{nil, "new"}}, textenc.UTF16) }, "new", nil},
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

// A keystroke, in documents of several sizes: the ratios should stay near 1.
func BenchmarkChange(b *testing.B) {
	for _, size := range []struct {
		name  string
		lines int
	}{{"1k", 1000}, {"100k", 100_000}} {
		b.Run(size.name, func(b *testing.B) {
			buffers := NewBuffers()
			buffers.Open("/f", 0, strings.Repeat("func main() { println() }\n", size.lines))
			at := textenc.Position{Line: uint32(size.lines / 2), Character: 3}
			key := []Change{{&textenc.Range{Start: at, End: at}, "x"}}
			back := []Change{{&textenc.Range{Start: at, End: textenc.Position{Line: at.Line, Character: 4}}, ""}}
			for i := 0; b.Loop(); i += 2 {
				_ = buffers.Change("/f", int32(i), key, textenc.UTF16)
				_ = buffers.Change("/f", int32(i+1), back, textenc.UTF16)
			}
		})
	}
}
