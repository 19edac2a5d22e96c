//go:build unix

package codeexec

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

// echoArguments answers a call with its arguments.
func echoArguments(_ context.Context, _ string, args json.RawMessage) tools.Result {
	return tools.Result{JSON: args}
}

func request(number uint32, tool, args string) []byte {
	body := tool + "\x00" + args
	head := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	return append(binary.BigEndian.AppendUint32(head, number), body...)
}

// A script that sends before it reads what it was answered is heard: else both sides
// would wait for each other to read.
func TestAnswersDoNotHoldUpRequests(t *testing.T) {
	t.Parallel()
	stage, err := newStaging()
	if err != nil {
		t.Fatal(err)
	}
	defer stage.dir.Remove()
	s, err := listen(t.Context(), stage.path("s"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	large := tools.OK(map[string]string{"content": strings.Repeat("x", 100_000)})
	s.open(t.Context(), &desk{allowed: callable, limit: 20, run: func(_ context.Context, tool string, args json.RawMessage) tools.Result {
		if tool == "write_file" {
			return tools.OK(map[string]int{"bytes_written": len(args)})
		}
		return large
	}})
	conn, err := net.Dial("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s%s\n", helloWord, s.token)
	conn.SetDeadline(time.Now().Add(maxWait))
	const each = 10
	for i := range uint32(each) {
		for _, one := range [][]byte{
			request(3*i, "read_file", `{"path":"a"}`), request(3*i+1, "todo", `{}`),
			request(3*i+2, "write_file", `{"path":"b","content":"`+strings.Repeat("y", 300_000)+`"}`),
		} {
			if _, err := conn.Write(one); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
	}
	answered := map[uint32]int{}
	for range 3 * each {
		var head [8]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			t.Fatal(err)
		}
		size := binary.BigEndian.Uint32(head[:]) - 4
		if _, err := io.CopyN(io.Discard, conn, int64(size)); err != nil {
			t.Fatal(err)
		}
		answered[binary.BigEndian.Uint32(head[4:])] = int(size)
	}
	for i := range uint32(each) {
		if answered[3*i] < 100_000 || answered[3*i+1] == 0 || answered[3*i+2] == 0 {
			t.Errorf("round %d: answers of %d, %d and %d bytes", i, answered[3*i], answered[3*i+1], answered[3*i+2])
		}
	}
}

// A call that takes long holds up no other, also when nothing was overseen for a while.
func TestReaderIsReplaced(t *testing.T) {
	t.Parallel()
	stage, err := newStaging()
	if err != nil {
		t.Fatal(err)
	}
	defer stage.dir.Remove()
	s, err := listen(t.Context(), stage.path("s"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	began, other := make(chan struct{}, 1), make(chan struct{}, 1)
	s.open(t.Context(), &desk{allowed: callable, limit: 20, run: func(ctx context.Context, tool string, args json.RawMessage) tools.Result {
		if tool == "write_file" {
			other <- struct{}{}
			return tools.OK(map[string]bool{"created": true})
		}
		began <- struct{}{}
		select {
		case <-other:
		case <-ctx.Done():
		}
		return tools.OK(map[string]string{"content": "x"})
	}})
	conn, err := net.Dial("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s%s\n", helloWord, s.token)
	conn.SetDeadline(time.Now().Add(maxWait))
	for i := range uint32(3) {
		for deadline := time.Now().Add(maxWait); !s.resting.Load(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the overseer does not rest")
			}
		}
		s.forgetSlowness()
		if _, err := conn.Write(request(2*i, "read_file", `{"path":"a"}`)); err != nil {
			t.Fatal(err)
		}
		<-began
		if _, err := conn.Write(request(2*i+1, "write_file", `{"path":"b","content":""}`)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var head [8]byte
			if _, err := io.ReadFull(conn, head[:]); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
			if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[:])-4)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// forgetSlowness has readers run their next call themselves.
func (s *socket) forgetSlowness() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		l.slow.Store(0)
	}
}
