package store

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// A line without end is refused at the limit. A line of the limit is read.
func TestReadRecord(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for _, text := range []string{`{"record":"session","title":"`, strings.Repeat(" ", 100)} {
		if line, err := readRecord(bufio.NewReader(endless(text)), limit); line != nil || err == nil || !strings.Contains(err.Error(), "longer than 1 MB") {
			t.Errorf("%q: %d bytes, %v", text, len(line), err)
		}
	}
	long := append(append([]byte{'{'}, bytes.Repeat([]byte("x"), limit-2)...), '\n')
	in := bufio.NewReader(bytes.NewReader(append(bytes.Clone(long), "{last"...)))
	if line, err := readRecord(in, limit); !bytes.Equal(line, long) || err != nil {
		t.Errorf("%d bytes, %v", len(line), err)
	}
	if line, err := readRecord(in, limit); string(line) != "{last" || !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", line, err)
	}
}
