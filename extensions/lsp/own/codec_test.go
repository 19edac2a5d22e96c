package own

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestStream(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"message":        {"Content-Length: 2\r\n\r\n{}", "{}"},
		"other header":   {"Content-Type: x; charset=utf-8\r\ncontent-length:2\r\n\r\n{}", "{}"},
		"only LF":        {"Content-Length: 2\n\n{}", "{}"},
		"no header":      {"starting …\nContent-Length: 2\r\n\r\n{}", "error: output that is no message of the protocol"},
		"no length":      {"Content-Type: x\r\n\r\n{}", "error: a message without a length"},
		"wrong length":   {"Content-Length: -1\r\n\r\n{}", "error: a message without a valid length"},
		"too large":      {"Content-Length: 99999999999\r\n\r\n{}", "error: a message of 99999999999 bytes; the limit is 67108864"},
		"cut":            {"Content-Length: 9\r\n\r\n{}", "error: unexpected EOF"},
		"no JSON":        {"Content-Length: 2\r\n\r\n{x", "error: a message that is no JSON: invalid character 'x' looking for beginning of object key string"},
		"endless header": {strings.Repeat("a: b\r\n", 2000), "error: output that is no message of the protocol"},
		"end":            {"", "error: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStream(strings.NewReader(tt.in), io.Discard, func(error) {})
			var got json.RawMessage
			text := ""
			if err := s.ReadObject(&got); err != nil {
				text = "error: " + err.Error()
			} else {
				text = string(got)
			}
			if text != tt.want {
				t.Errorf("%q, want %q", text, tt.want)
			}
		})
	}
}

func FuzzStream(f *testing.F) {
	f.Add("Content-Length: 2\r\n\r\n{}")
	f.Fuzz(func(t *testing.T, in string) {
		s := newStream(strings.NewReader(in), io.Discard, func(error) {})
		for {
			var v json.RawMessage
			if s.ReadObject(&v) != nil {
				return
			}
			if err := s.WriteObject(v); err != nil {
				t.Fatalf("%q was read and cannot be written: %v", v, err)
			}
		}
	})
}
