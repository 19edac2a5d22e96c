//go:build unix

package proc

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// Output already in the pipe at the deadline is not lost: the process may have been too busy to
// read it.
func TestOutputAfterTheDeadline(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() // a background process holding the pipe
	want := bytes.Repeat([]byte("late "), 10_000)
	if _, err := w.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	o := newOutput(r, &got)
	<-o.done
	if o.err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes of %d, %v", got.Len(), len(want), o.err)
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	b := &Bounded{Limit: 5}
	for _, tt := range []struct {
		text, kept string
		over       bool
	}{{"abc", "abc", false}, {"de", "abcde", false}, {"", "abcde", false}, {"f", "abcde", true}} {
		n, err := io.Copy(b, strings.NewReader(tt.text))
		if err != nil || n != int64(len(tt.text)) || b.String() != tt.kept || b.Over != tt.over {
			t.Errorf("after %q: %d, %v, %q, over %v", tt.text, n, err, b, b.Over)
		}
	}
}
