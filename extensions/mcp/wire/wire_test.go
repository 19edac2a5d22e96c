package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestKeepAlive checks that comments between events do not count as part of an event.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	r := &readMessages{dropped: new(Dropped), events: true}
	for range 2*LongestMessage/5 + 1 {
		r.add([]byte(": hi\n"))
	}
	if r.size > LongestMessage {
		t.Errorf("comments count as %d bytes of an event", r.size)
	}
	for range 3 {
		r.add([]byte("data: " + strings.Repeat("a", LongestMessage/2) + "\r\n\r\n"))
	}
	if r.size > LongestMessage {
		t.Errorf("three events count as %d bytes of one", r.size)
	}
}

// FuzzMessages checks that only whole lines of JSON reach the SDK, however the output is
// split.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("{\"a\":1}\nhello\n[1]\n{\n"), uint8(3))
	f.Add([]byte("\n\n{}\r\n"), uint8(1))
	f.Add([]byte("{}\v\n"), uint8(6))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		var out, other bytes.Buffer
		m := &Messages{To: &out, Other: &other}
		for rest := in; len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			if _, err := m.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("passed %q", line)
			}
		}
		whole := in[:bytes.LastIndexByte(in, '\n')+1]
		if out.Len()+other.Len() != len(whole) {
			t.Errorf("%d bytes of %d came out", out.Len()+other.Len(), len(whole))
		}
	})
}
