package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// text is a note that merges, like a chunk of an answer.
type text struct{ key, s string }

func (n *text) AppendJSON(dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, `{"key":%q,"text":%q}`, n.key, n.s), nil
}
func (n *text) Size() int { return len(n.s) }
func (n *text) Merge(later Note) bool {
	l, ok := later.(*text)
	if ok {
		n.s += l.s
	}
	return ok
}

// pausable is an output whose reader stops and goes on.
type pausable struct {
	got  bytes.Buffer
	gate chan struct{} // nil: open
	n    int           // writes
}

func (p *pausable) Write(b []byte) (int, error) {
	if p.gate != nil {
		<-p.gate
	}
	p.n++
	return p.got.Write(b)
}

func TestWriterKeepsOrderAndBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &pausable{gate: make(chan struct{})}
		w := NewWriter(out, LineFraming)
		var want strings.Builder
		for i := range 100 {
			m := fmt.Sprintf(`{"id":%d}`, i)
			if err := w.Send([]byte(m)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&want, m)
		}
		close(out.gate)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.got.String() != want.String() {
			t.Errorf("got %q", out.got.String())
		}
		if out.n > 2 {
			t.Errorf("%d writes for 100 waiting messages", out.n)
		}
		if err := w.Send([]byte("{}")); !errors.Is(err, ErrClosed) {
			t.Errorf("Send after Close: %v", err)
		}
	})
}

func TestWriterMergesOnlyUnderPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &pausable{gate: make(chan struct{})}
		w := NewWriter(out, LineFraming)
		_ = w.Send([]byte(`"first"`))
		synctest.Wait() // the writer is now stuck with it
		var a, b strings.Builder
		for i := range 20_000 {
			_ = w.Post("a", &text{"a", fmt.Sprint(i, " ")})
			_ = w.Post("b", &text{"b", fmt.Sprint(-i, " ")})
			fmt.Fprint(&a, i, " ")
			fmt.Fprint(&b, -i, " ")
			if i == 10_000 {
				_ = w.Send([]byte(`"response"`))
				_ = w.Post("a", Notification("other", nil))
			}
		}
		close(out.gate)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.got.String()), "\n")
		if len(lines) > mergeFrom+10 {
			t.Errorf("%d messages came of 40,000 that waited", len(lines))
		}
		var gotA, gotB strings.Builder
		response, other := 0, 0
		for _, l := range lines {
			switch {
			case l == `"response"`:
				response++
			case strings.Contains(l, "other"):
				other++
				if !strings.HasSuffix(gotA.String(), " 10000 ") {
					t.Error("a note was merged past another of its key")
				}
			case strings.HasPrefix(l, `{"key":"a"`):
				gotA.WriteString(textOf(l))
			case strings.HasPrefix(l, `{"key":"b"`):
				gotB.WriteString(textOf(l))
			}
		}
		if gotA.String() != a.String() || gotB.String() != b.String() {
			t.Error("merged text differs from the posted text")
		}
		if response != 1 || other != 1 {
			t.Errorf("responses %d, others %d, want 1 and 1", response, other)
		}
	})
}

func textOf(line string) string {
	_, s, _ := strings.Cut(line, `"text":"`)
	return strings.TrimSuffix(s, `"}`)
}

func TestWriterWaitsWhenFullAndGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &pausable{gate: make(chan struct{})}
		w := NewWriter(out, LineFraming)
		_ = w.Send(make([]byte, maxWaiting))
		begun := time.Now()
		if err := w.Send([]byte("{}")); !errors.Is(err, ErrStalled) {
			t.Errorf("a full queue whose reader has stopped: %v", err)
		}
		if d := time.Since(begun); d != stallLimit {
			t.Errorf("gave up after %v, want %v", d, stallLimit)
		}
		if err := w.Close(); !errors.Is(err, ErrStalled) {
			t.Errorf("Close with a blocked write: %v", err)
		}
		close(out.gate)
		<-w.Done()
	})
	synctest.Test(t, func(t *testing.T) {
		out := &pausable{gate: make(chan struct{})}
		w := NewWriter(out, LineFraming)
		_ = w.Send(make([]byte, maxWaiting))
		go func() {
			time.Sleep(stallLimit - time.Second)
			close(out.gate)
		}()
		if err := w.Send([]byte(`"late"`)); err != nil {
			t.Errorf("a slow reader ended the writer: %v", err)
		}
		_ = w.Close()
		if !strings.HasSuffix(out.got.String(), "\"late\"\n") {
			t.Error("the message that waited for room is missing")
		}
	})
}

func TestWriterReportsABrokenOutput(t *testing.T) {
	t.Parallel()
	r, out := io.Pipe()
	_ = r.Close()
	w := NewWriter(out, LineFraming)
	_ = w.Send([]byte("{}"))
	<-w.Done()
	if err := w.Send([]byte("{}")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Send after the output broke: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func BenchmarkPost(b *testing.B) {
	w := NewWriter(io.Discard, LineFraming)
	defer w.Close()
	b.ReportAllocs()
	for b.Loop() {
		_ = w.Post("a", &text{"a", "a delta of text"})
	}
}

// If a sender drains first, it never queues more than its limit.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader, out := io.Pipe()
		w := NewWriter(out, HeaderFraming)
		send := func() {
			if err := w.Send(make([]byte, 100)); err != nil {
				t.Error(err)
			}
		}
		send()
		if err := w.Drain(t.Context(), 100); err != nil { // as much may wait
			t.Error(err)
		}
		drained := make(chan error, 1)
		send()
		go func() { drained <- w.Drain(t.Context(), 0) }()
		synctest.Wait()
		select {
		case err := <-drained:
			t.Error("drained before a read", err)
		default:
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Drain(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		go func() { _, _ = io.Copy(io.Discard, reader) }()
		if err := <-drained; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if err := w.Drain(t.Context(), 0); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		_ = out.Close()
	})
}
