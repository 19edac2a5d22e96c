package tap

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		framing Framing
		in      string
		want    []string
	}{
		{"lines", Lines, "{\"a\":1}\n\n{\"b\":2}\r\n{", []string{`{"a":1}`, `{"b":2}`}},
		{"headers", Headers, "Content-Length: 2\r\n\r\n{}Content-Type: x\r\ncontent-length:3\r\n\r\n{ }", []string{"{}", "{ }"}},
		{"stray", Headers, "a print\nContent-Length: 2\r\n\r\n{}", []string{"stray a print", "{}"}},
		{"too long", Headers, fmt.Sprintf("Content-Length: %d\r\n\r\n%sContent-Length: 2\r\n\r\n{}", maxFrame+1, strings.Repeat("x", maxFrame+1)), []string{"{}"}},
	} {
		for _, slow := range []bool{false, true} {
			t.Run(fmt.Sprint(tc.name, slow), func(t *testing.T) {
				t.Parallel()
				if slow && len(tc.in) > 1<<20 {
					t.Skip("a byte at a time takes long")
				}
				var got []string
				see := func(f Frame) {
					text := strings.TrimSpace(string(f.Body))
					if f.Stray {
						text = "stray " + text
					}
					got = append(got, text)
				}
				source := io.Reader(strings.NewReader(tc.in))
				if slow {
					source = iotest.OneByteReader(source)
				}
				in, _ := Wrap(source, io.Discard, tc.framing, see)
				all, err := io.ReadAll(in)
				if err != nil || string(all) != tc.in {
					t.Errorf("the reader got %d bytes of %d, %v", len(all), len(tc.in), err)
				}
				if !slices.Equal(got, tc.want) {
					t.Errorf("frames are %q, want %q", got, tc.want)
				}
			})
		}
	}
}

// A failing observer must not affect the connection.
func TestPanic(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	calls := 0
	_, w := Wrap(strings.NewReader(""), &out, Lines, func(Frame) { panic("x") }, func(Frame) { calls++ })
	for range 2 {
		if _, err := io.WriteString(w, "{}\n"); err != nil {
			t.Error(err)
		}
	}
	if out.String() != "{}\n{}\n" || calls != 2 {
		t.Errorf("wrote %q, the other observer saw %d frames", out.String(), calls)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}x"), true)
	f.Add([]byte("{}\n{}\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, headers bool) {
		framing := Lines
		if headers {
			framing = Headers
		}
		var whole, pieces []string
		in, _ := Wrap(bytes.NewReader(data), io.Discard, framing, func(f Frame) { whole = append(whole, string(f.Body)) })
		if _, err := io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
		in, _ = Wrap(iotest.OneByteReader(bytes.NewReader(data)), io.Discard, framing, func(f Frame) { pieces = append(pieces, string(f.Body)) })
		if _, err := io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(whole, pieces) {
			t.Errorf("in one piece %q, byte by byte %q", whole, pieces)
		}
	})
}
