//go:build unix

package codeexec

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

// testSocket returns a socket that the test closes at its end.
func testSocket(t testing.TB) *socket {
	t.Helper()
	stage, err := newStaging(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stage.remove)
	s, err := listen(stage.path("s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// named returns no-op tools with these names. Tools with write in the name write files.
func named(names ...string) (list []tools.Tool) {
	for _, name := range names {
		kind := tools.KindRead
		if strings.Contains(name, "write") {
			kind = tools.KindEdit
		}
		list = append(list, tools.Tool{Name: name, Kind: kind})
	}
	return list
}

// echoArguments returns the arguments of a call as its result.
func echoArguments(_ context.Context, _ string, args json.RawMessage) tools.Result {
	return tools.Result{JSON: args}
}

func framed(body string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body
}

// dial connects to s and sends the token.
func dial(t *testing.T, s *socket) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(maxWait))
	if _, err := io.WriteString(conn, framed(s.token)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func send(t *testing.T, conn net.Conn, r request) {
	t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, framed(string(body))); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, conn net.Conn) string {
	t.Helper()
	size, err := readSize(conn)
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(conn, body); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func exchange(t *testing.T, conn net.Conn, r request) string {
	t.Helper()
	send(t, conn, r)
	return receive(t, conn)
}

// Frames sent in pieces, and several frames sent at once, are answered in order.
func TestFramesInPieces(t *testing.T) {
	t.Parallel()
	s := testSocket(t)
	s.open(t.Context(), &callQueue{functions: named("read_file"), limit: 1000, run: echoArguments})
	text := ""
	var want []string
	for _, path := range []string{"a", "b\\n\\u2603", strings.Repeat("c", 40_000)} {
		text += framed(`{"tool":"read_file","args":{"path":"` + path + `"}}`)
		want = append(want, `{"path":"`+path+`"}`)
	}
	for _, size := range []int{1, 3, 7, 1000, len(text)} {
		conn := dial(t, s)
		go func() {
			for rest := text; rest != ""; {
				n, err := io.WriteString(conn, rest[:min(size, len(rest))])
				if err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
		}()
		for _, want := range want {
			if got := receive(t, conn); got != want {
				t.Errorf("in pieces of %d: %.100q, want %.100q", size, got, want)
			}
		}
	}
	eventually(t, "no request is pending", func() bool { return s.pending.Load() == 0 })
}

// If a script sends on a connection without reading, this delays neither other connections nor the
// script's end.
func TestUnreadResponses(t *testing.T) {
	t.Parallel()
	s := testSocket(t)
	large := tools.OK(map[string]string{"content": strings.Repeat("x", 100_000)})
	s.open(t.Context(), &callQueue{functions: named("read_file"), limit: 1 << 20, run: func(context.Context, string, json.RawMessage) tools.Result {
		return large
	}})
	deaf := dial(t, s)
	blocked := make(chan struct{})
	go func() {
		defer close(blocked)
		request := framed(`{"tool":"read_file","args":{"path":"` + strings.Repeat("y", 100_000) + `"}}`)
		for {
			if _, err := io.WriteString(deaf, request); err != nil {
				return // the socket was closed
			}
		}
	}()
	other := dial(t, s)
	for range 100 {
		if got := exchange(t, other, request{"read_file", []byte(`{}`)}); len(got) < 100_000 {
			t.Fatalf("response %.100q", got)
		}
	}
	s.close()
	<-blocked
}

// At most maxRunning calls run at a time; the others wait and then run.
func TestRunningCallsAreBounded(t *testing.T) {
	t.Parallel()
	s := testSocket(t)
	began, finish := make(chan struct{}, 1000), make(chan struct{})
	q := &callQueue{functions: named("read_file"), limit: 1000, run: func(context.Context, string, json.RawMessage) tools.Result {
		began <- struct{}{}
		<-finish
		return tools.Result{JSON: []byte(`{}`)}
	}}
	s.open(t.Context(), q)
	var conns []net.Conn
	for range 2 * maxRunning {
		conn := dial(t, s)
		send(t, conn, request{"read_file", []byte(`{}`)})
		conns = append(conns, conn)
	}
	eventually(t, "all calls have come", func() bool { made, _ := q.counts(); return made == len(conns) })
	for range maxRunning {
		<-began
	}
	if n := len(began); n > 0 {
		t.Errorf("%d more calls run than may", n)
	}
	close(finish)
	for _, conn := range conns {
		receive(t, conn)
	}
}

// Calls that write files run one at a time, also beside reading calls.
func TestWritingCallsRunAlone(t *testing.T) {
	t.Parallel()
	s := testSocket(t)
	var writing atomic.Int32
	reading := make(chan struct{})
	q := &callQueue{functions: named("read_file", "write_file", "overwrite"), limit: 1000}
	q.run = func(_ context.Context, tool string, _ json.RawMessage) tools.Result {
		if tool == "read_file" {
			<-reading
			return tools.Result{JSON: []byte(`{}`)}
		}
		if n := writing.Add(1); n > 1 {
			t.Errorf("%d calls write", n)
		}
		eventually(t, "all calls have come", func() bool { made, _ := q.counts(); return made == 41 })
		writing.Add(-1)
		return tools.Result{JSON: []byte(`{}`)}
	}
	s.open(t.Context(), q)
	reader := dial(t, s)
	send(t, reader, request{"read_file", []byte(`{}`)})
	var conns []net.Conn
	for i := range 40 {
		conn := dial(t, s)
		send(t, conn, request{[]string{"write_file", "overwrite"}[i%2], []byte(`{}`)})
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		receive(t, conn)
	}
	close(reading)
	receive(t, reader)
}

// The end of a script cancels its running and waiting calls, and answers later calls.
func TestShutCancelsCalls(t *testing.T) {
	t.Parallel()
	s := testSocket(t)
	q := &callQueue{functions: named("write_file"), limit: 1000, run: func(ctx context.Context, _ string, _ json.RawMessage) tools.Result {
		<-ctx.Done()
		return tools.Fail("canceled")
	}}
	s.open(t.Context(), q)
	var conns []net.Conn
	for range 3 {
		conn := dial(t, s)
		send(t, conn, request{"write_file", []byte(`{}`)})
		conns = append(conns, conn)
	}
	eventually(t, "all calls have come", func() bool { made, _ := q.counts(); return made == len(conns) })
	s.shut()
	for _, conn := range conns {
		if got := receive(t, conn); !strings.Contains(got, "canceled") && !strings.Contains(got, lateText) {
			t.Errorf("response %q", got)
		}
		if got := exchange(t, conn, request{"write_file", []byte(`{}`)}); !strings.Contains(got, lateText) {
			t.Errorf("response %q after the end", got)
		}
	}
	calls, _ := q.records()
	for _, c := range calls {
		if c.Status != "interrupted" {
			t.Errorf("%+v", c)
		}
	}
	if len(calls) != len(conns) {
		t.Errorf("%d calls in the transcript, want %d", len(calls), len(conns))
	}
}

// A script gets no response while it is being canceled, because it must not continue.
func TestCanceledScriptGetsNoResponse(t *testing.T) {
	t.Parallel()
	s := testSocket(t)
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{})
	s.open(ctx, &callQueue{functions: named("read_file"), limit: 1000, run: func(ctx context.Context, _ string, _ json.RawMessage) tools.Result {
		close(began)
		<-ctx.Done()
		return tools.Fail("canceled")
	}})
	conn := dial(t, s)
	send(t, conn, request{"read_file", []byte(`{}`)})
	<-began
	cancel()
	go s.close()
	if got, err := io.ReadAll(conn); len(got) > 0 {
		t.Errorf("response %q, %v", got, err)
	}
}
