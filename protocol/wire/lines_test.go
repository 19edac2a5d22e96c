package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
)

// seen records the messages of a stream: requests as "method id params", responses as the caller
// gets them.
type seen struct {
	lines *LineStream
	got   []string
}

func (s *seen) Handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) {
	id, params := s.lines.Request()
	s.got = append(s.got, fmt.Sprintf("%s %s %s", r.Method, id, params))
}

// testLimit stands for MaxLine where a test fills it.
const testLimit = 200 << 10

// feed runs input through a real connection and returns the handler's requests and the responses.
func feed(t *testing.T, input io.Reader) (got []string, answers string) {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, LineFraming)
	s := &seen{lines: NewLineStream(input, w)}
	s.lines.most = testLimit
	conn := jsonrpc2.NewConn(t.Context(), s.lines, s, jsonrpc2.SetLogger(discard{}))
	<-conn.DisconnectNotify()
	finish(t, w)
	return s.got, out.String()
}

// finish closes w and waits until everything is written. A busy machine may need longer than Close
// waits.
func finish(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Close(); err != nil && !errors.Is(err, ErrStalled) {
		t.Fatal(err)
	}
	<-w.done
}

type discard struct{}

func (discard) Printf(string, ...any) {}

func TestLines(t *testing.T) {
	t.Parallel()
	const alive = `{"jsonrpc":"2.0","method":"alive"}` + "\n"
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for _, c := range []struct{ name, in, got, answer string }{
		{"request", `{"jsonrpc":"2.0","id":7,"method":"a","params":{"x": [1]}}`, `a 7 {"x": [1]}`, ""},
		{"string id", `{"id":"é","method":"a"}`, `a "é" `, ""},
		{"negative id", `{"id":-3,"method":"a","params":null}`, `a -3 null`, ""},
		{"null id is a notification", `{"id":null,"method":"a"}`, `a  `, ""},
		{"spaces and CR", "  {\"method\":\"a\"} \r", `a  `, ""},
		{"blank line", "", "", ""},
		{"extra fields", `{"method":"a","meta":3,"x":{}}`, "a  ", ""},
		{"invalid UTF-8", "{\"id\":1,\"method\":\"a\",\"params\":[\"\xff\"]}", "a 1 [\"\xff\"]", ""},
		{"cut JSON", `{"id":1,"method":`, "", `"id":null,"error":{"code":-32700`},
		{"no JSON", `hello`, "", `"id":null,"error":{"code":-32700`},
		{"too deep", `{"method":"a","params":` + deep + `}`, "", `-32700`},
		{"batch", `[{"id":1,"method":"a"}]`, "", `-32600,"message":"batches are not part`},
		{"scalar", `42`, "", `-32600`},
		{"null", `null`, "", `-32600`},
		{"method is a number", `{"id":5,"method":4}`, "", `"id":5,"error":{"code":-32600`},
		{"method is null", `{"id":5,"method":null}`, "", `"id":5,"error":{"code":-32600`},
		{"fractional id", `{"id":1.5,"method":"a"}`, "", `"id":null,"error":{"code":-32600`},
		{"object id", `{"id":{},"method":"a"}`, "", `"id":null,"error":{"code":-32600`},
		{"huge id", `{"id":99999999999999999999,"method":"a"}`, "", `"id":null,"error":{"code":-32600`},
		{"nothing in it", `{"id":9}`, "", `"id":9,"error":{"code":-32600`},
		{"answer to nothing", `{"id":9,"result":null}`, "", ""},
		{"answer with an odd id", `{"id":{},"result":null}`, "", ""},
		{"answer with an odd error", `{"id":1,"error":"no"}`, "", ""},
		{"too long", `{"id":31,"method":"a","params":"` + strings.Repeat("x", testLimit) + `"}`, "", `"id":31,"error":{"code":-32600,"message":"a message of more than 204800 bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, answer := feed(t, strings.NewReader(c.in+"\n"+alive))
			want := []string{"alive  "}
			if c.got != "" {
				want = []string{c.got, "alive  "}
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Errorf("seen %q, want %q", got, want)
			}
			if (answer == "") != (c.answer == "") || !strings.Contains(answer, c.answer) {
				t.Errorf("answered %q, want %q", answer, c.answer)
			}
			if answer != "" && (!json.Valid([]byte(answer)) || strings.Count(answer, "\n") != 1) {
				t.Errorf("the answer is not one JSON message: %q", answer)
			}
		})
	}
}

func TestLastLineWithoutItsEnd(t *testing.T) {
	t.Parallel()
	if got, _ := feed(t, strings.NewReader(`{"method":"a"}`)); len(got) != 1 {
		t.Errorf("seen %q", got)
	}
}

// endless is a line that continues until it is refused, and then a little longer.
type endless struct {
	read    int
	refused chan struct{}
}

func (e *endless) Read(b []byte) (int, error) {
	if e.read += len(b); e.read > testLimit+1<<20 {
		<-e.refused
	}
	if e.read > 2<<20 {
		return 0, io.EOF
	}
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestEndlessLineIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	in := &endless{refused: make(chan struct{})}
	w := NewWriter(writerFunc(func(b []byte) (int, error) { close(in.refused); return len(b), nil }), LineFraming)
	s := NewLineStream(in, w)
	s.most = testLimit
	var m raw
	if err := s.ReadObject(&m); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	finish(t, w)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

type raw struct{ json.RawMessage }

func (m *raw) UnmarshalJSON(b []byte) error { m.RawMessage = bytes.Clone(b); return nil }

func TestCallsAreAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, want, err string }{
		{`{"id":1,"result":{"x":1}}`, `{"x":1}`, ""},
		{`{"id":1,"result":null}`, `null`, ""},
		{`{"id":1,"error":null,"result":3}`, `3`, ""},
		{`{"id":1,"error":{"code":-1,"message":"no"}}`, "", "code -1 message: no"},
		{`{"id":1,"error":"odd"}`, "", "an error that is none"},
		{`{"id":1,"error":null}`, `null`, ""},
	} {
		t.Run(c.answer, func(t *testing.T) {
			t.Parallel()
			in, client := io.Pipe()
			fromServer, out := io.Pipe()
			w := NewWriter(out, LineFraming)
			conn := jsonrpc2.NewConn(t.Context(), NewLineStream(in, w), &seen{})
			go func() { // the other side: one request, one response
				_, _ = fromServer.Read(make([]byte, 1000))
				_, _ = fmt.Fprintln(client, c.answer)
			}()
			var got json.RawMessage
			err := conn.Call(t.Context(), "ask", nil, &got, jsonrpc2.PickID(jsonrpc2.ID{Num: 1}))
			if c.err == "" && (err != nil || string(got) != c.want) {
				t.Errorf("got %s, %v", got, err)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			_ = client.Close()
			<-conn.DisconnectNotify()
			_ = w.Close()
		})
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{`{"id":1,"method":"a"}`, `[1]`, `{"id":1,"result":{}}`, `{"error":{},"id":"x"}`, "\xff\n\n{}", `{"method":"a","id":-0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, answers := feed(t, io.MultiReader(bytes.NewReader(in), strings.NewReader("\n{\"method\":\"alive\"}\n")))
		if len(got) == 0 || got[len(got)-1] != "alive  " {
			t.Errorf("the connection did not survive: %q", got)
		}
		for line := range strings.Lines(answers) {
			if !json.Valid([]byte(line)) {
				t.Errorf("answered %q", line)
			}
		}
	})
}

func BenchmarkLines100KB(b *testing.B) {
	line := `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[` +
		strings.Repeat(`{"type":"text","text":"some words of a prompt that is long"},`, 1600) + `{"type":"text","text":""}]}}` + "\n"
	b.SetBytes(int64(len(line)))
	r, in := io.Pipe()
	done := make(chan struct{})
	s := &seen{}
	w := NewWriter(io.Discard, LineFraming)
	s.lines = NewLineStream(r, w)
	conn := jsonrpc2.NewConn(b.Context(), s.lines, counter{s.lines, done})
	for b.Loop() {
		_, _ = io.WriteString(in, line)
		<-done
	}
	_ = in.Close()
	<-conn.DisconnectNotify()
	_ = w.Close()
}

type counter struct {
	lines *LineStream
	done  chan struct{}
}

func (c counter) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) { c.done <- struct{}{} }
