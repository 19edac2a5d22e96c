package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"
)

// checkHeader feeds raw bytes to a stream. It compares the methods or ids of the read messages, and
// of the error responses, each as "id code", with want.
func checkHeader(t *testing.T, raw io.Reader, wantRead, wantAnswered string, wantEnd error) {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, HeaderFraming)
	s := NewHeaderStream(raw, w)
	var read []string
	var err error
	for err == nil {
		var msg jsonrpc2.Message
		if msg, _, err = s.Read(context.Background()); err != nil {
			break
		}
		switch m := msg.(type) {
		case *jsonrpc2.Call:
			read = append(read, fmt.Sprintf("%s#%v", m.Method(), m.ID()))
		case *jsonrpc2.Notification:
			read = append(read, m.Method())
		case *jsonrpc2.Response:
			read = append(read, fmt.Sprintf("answer#%v", m.ID()))
		}
	}
	finish(t, w)
	if got := strings.Join(read, " "); got != wantRead {
		t.Errorf("read %q, want %q", got, wantRead)
	}
	if got := answered(t, out.Bytes()); got != wantAnswered {
		t.Errorf("answered %q, want %q", got, wantAnswered)
	}
	if wantEnd != nil && !errors.Is(err, wantEnd) {
		t.Errorf("ended with %v, want %v", err, wantEnd)
	}
}

// answered decodes the error responses in raw frames.
func answered(t *testing.T, raw []byte) string {
	t.Helper()
	var list []string
	for len(raw) > 0 {
		head, rest, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
		var n int
		if _, err := fmt.Sscanf(string(head), "Content-Length: %d", &n); !ok || err != nil || n > len(rest) {
			t.Fatalf("bad frame out: %q", raw)
		}
		var m struct {
			ID    any `json:"id"`
			Error struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(rest[:n], &m); err != nil || m.Error.Message == "" {
			t.Fatalf("bad answer %q: %v", rest[:n], err)
		}
		list = append(list, fmt.Sprintf("%v %d", m.ID, m.Error.Code))
		raw = rest[n:]
	}
	return strings.Join(list, ", ")
}

func frame(body string) string { return string(HeaderFraming(nil, []byte(body))) }

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestHeaderStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, read, answered string }{
		"two":                {frame(ping) + frame(`{"jsonrpc":"2.0","method":"note","params":{}}`), "ping#1 note", ""},
		"string id":          {frame(`{"jsonrpc":"2.0","id":"a","method":"ping"}`), `ping#a`, ""},
		"content type first": {"Content-Type: x; charset=utf-8\r\nContent-Length: " + fmt.Sprint(len(ping)) + "\r\n\r\n" + ping, "ping#1", ""},
		"lower case, LF":     {"content-length:" + fmt.Sprint(len(ping)) + "\n\n" + ping, "ping#1", ""},
		"blank lines first":  {"\r\n\r\n" + frame(ping), "ping#1", ""},
		"an unknown header":  {"X-Trace: 1\r\n" + frame(ping), "ping#1", ""},
		"a stray print":      {"hello, I am a log line\n" + frame(ping), "ping#1", "<nil> -32700"},
		"bad JSON":           {frame(`{"id":1,`) + frame(ping), "ping#1", "<nil> -32700"},
		"bad inside params":  {frame(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":tru}}`) + frame(ping), "ping#1", "<nil> -32700"},
		"trailing garbage":   {frame(ping+"x") + frame(ping), "ping#1", "<nil> -32700"},
		"zero length":        {frame("") + frame(ping), "ping#1", "<nil> -32700"},
		"a batch":            {frame("["+ping+"]") + frame(ping), "ping#1", "<nil> -32600"},
		"a bare number":      {frame(" 42 ") + frame(ping), "ping#1", "<nil> -32600"},
		"no version":         {frame(`{"id":7,"method":"m"}`) + frame(ping), "ping#1", "7 -32600"},
		"a method that is 5": {frame(`{"jsonrpc":"2.0","id":"x","method":5}`) + frame(ping), "ping#1", "x -32600"},
		"a fractional id":    {frame(`{"jsonrpc":"2.0","id":1.5,"method":"m"}`) + frame(ping), "ping#1", "<nil> -32600"},
		"an empty object":    {frame(`{}`) + frame(ping), "ping#1", "<nil> -32600"},
		"an answer":          {frame(`{"jsonrpc":"2.0","id":3,"result":null}`), "answer#3", ""},
		"no result at all":   {frame(`{"jsonrpc":"2.0","id":3}`), "answer#3", ""},
		"an error of null":   {frame(`{"jsonrpc":"2.0","id":3,"error":"no"}`), "answer#3", ""},
		"invalid UTF-8":      {frame("{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"t\":\"\xff\xfe\"}}"), "n", ""},
		"deep nesting":       {frame(strings.Repeat("[", 200_000)) + frame(ping), "ping#1", "<nil> -32700"},
		"cut in the body":    {frame(ping)[:30], "", ""},
		"cut in the header":  {"Content-Le", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkHeader(t, strings.NewReader(c.in), c.read, c.answered, io.EOF)
		})
	}
}

func TestHeaderThatCannotBeKnown(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"no number":  "Content-Length: many\r\n\r\n" + frame(ping),
		"negative":   "Content-Length: -1\r\n\r\n" + frame(ping),
		"overflow":   "Content-Length: 99999999999999999999999\r\n\r\n" + frame(ping),
		"endless":    strings.Repeat("x", MaxHeader+1),
		"many lines": strings.Repeat("X-A: b\r\n", MaxHeader/4),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkHeader(t, strings.NewReader(in), "", "<nil> -32700", nil)
		})
	}
}

// A frame over the limit is refused before it has come, and skipped without
// holding it.
func TestGiantFrameIsSkipped(t *testing.T) {
	const size = 200 << 20
	in := io.MultiReader(
		strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", size)),
		io.LimitReader(spaces{}, size),
		strings.NewReader(frame(ping)),
	)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	checkHeader(t, in, "ping#1", "<nil> -32600", io.EOF)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("skipping took %d MB", used>>20)
	}
}

// A false header about a large body costs no memory until the body comes.
func TestLyingLengthCostsNothing(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	checkHeader(t, strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n{", MaxBody)), "", "", io.EOF)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("a lie took %d MB", used>>20)
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func FuzzHeaderStream(f *testing.F) {
	for _, seed := range []string{
		frame(ping), "Content-Length: 5\r\n\r\nhello", "garbage\n" + frame(ping), frame("[]"), frame("null"),
		"Content-Length: 999999999\r\n\r\n", frame(`{"method":null}`), frame(`{"id":{}}`), "\r\n\r\n\r\n", "Content-Length:\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var out bytes.Buffer
		w := NewWriter(&out, HeaderFraming)
		s := NewHeaderStream(bytes.NewReader(raw), w)
		for {
			msg, _, err := s.Read(context.Background())
			if err != nil {
				break
			}
			// What was read can be written, and reads as itself.
			again, err := jsonrpc2.DecodeMessage(jsonrpc2.AppendMessage(nil, msg))
			if err != nil {
				t.Fatalf("%T does not survive: %v", again, err)
			}
		}
		finish(t, w)
		answered(t, out.Bytes())
	})
}

func BenchmarkHeaderStreamRead(b *testing.B) {
	one := frame(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a/b.go","version":2},"contentChanges":[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":2}},"text":"x"}]}}`)
	in := strings.NewReader(strings.Repeat(one, b.N))
	w := NewWriter(io.Discard, HeaderFraming)
	defer w.Close()
	s := NewHeaderStream(in, w)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Read(context.Background()); err != nil {
			in.Reset(strings.Repeat(one, 1000))
		}
	}
}
