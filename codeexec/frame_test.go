package codeexec

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// unframe reads a frame as hermes_tools does, with encoding/json in the scanner's place.
func unframe(t *testing.T, frame []byte, number uint32) any {
	t.Helper()
	if size := int(binary.BigEndian.Uint32(frame)); size != len(frame)-4 || binary.BigEndian.Uint32(frame[4:]) != number {
		t.Fatalf("the frame says %d bytes and is %d", size, len(frame)-4)
	}
	end := 12 + int(binary.BigEndian.Uint32(frame[8:]))
	text, rest := frame[12:end], frame[end:]
	if bytes.Contains(text, []byte("NaN:")) {
		t.Fatalf("a key is missing in %.200s", text)
	}
	for len(rest) > 0 {
		n := 4 + int(binary.BigEndian.Uint32(rest))
		quoted, err := json.Marshal(string(rest[4:n]))
		if err != nil {
			t.Fatal(err)
		}
		text, rest = bytes.Replace(text, []byte("NaN"), quoted, 1), rest[n:]
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return v
}

func FuzzFrame(f *testing.F) {
	long := strings.Repeat("long é ", longText/6)
	for _, seed := range []string{
		`{}`, `{"content": "short"}`, `{"content":"` + long + `"}`,
		`{"a":"` + long + `\n\t\"quoted\" \\","b":[1,"x","` + long + `\\"],"c":null}`,
		`{"a":"` + long + `\u00e9 \ud83d\ude00 \ud83d \u12 \/","a b":""}`,
		`{"counts":[1` + strings.Repeat(",1", longText) + `],"end":"short"}`,
		`["\\\\` + long + `", {"` + long + `": 1}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		var want any
		plain, texts := new(framer).frame(7, result) // whatever it is, nothing breaks
		got := slices.Concat(plain, texts)
		if bytes.Contains(result, []byte("NaN")) || json.Unmarshal(result, &want) != nil {
			return
		}
		a, _ := json.Marshal(want) // it was JSON
		b, _ := json.Marshal(unframe(t, got, 7))
		if !bytes.Equal(a, b) {
			t.Errorf("%.300s\nbecame\n%.300s", a, b)
		}
	})
}

// BenchmarkFrame is of source code.
func BenchmarkFrame(b *testing.B) {
	text := strings.Repeat("\tif err := call(x, \"some text\"); err != nil {\n\t\treturn fmt.Errorf(\"calling: %w\", err)\n\t}\n", 1100)
	result, err := json.Marshal(map[string]string{"content": text})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(result)))
	var f framer
	for b.Loop() {
		f.frame(1, result)
	}
}
