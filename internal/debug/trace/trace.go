// Package trace records a connection as a txtar file for the tests of server/servertest: all frames
// of both directions, and the responses of the model.
//
//	-- recording --
//	{"protocol":"lsp","version":"0.1.0","cwd":"/home/me/project","home":"/home/me/.hermes","start":"…"}
//	-- trace --
//	0.000 client {"jsonrpc":"2.0","id":1,"method":"initialize",…}
//	0.012 server {"jsonrpc":"2.0","id":1,"result":{…}}
//	0.310 model "" [{"text":"It prints "},{"text":"hello."}]
//
// The number is seconds since the start. An invalid JSON frame is a quoted string after the word
// raw, and bytes between frames follow the word stray. The string before a model's response is the
// goal of its subagent.
//
// A [Recorder] never makes its caller wait or fail: if the file cannot be written, it reports the
// error once and stops. It is safe for concurrent use.
package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/debug/tap"
)

const (
	maxQueue     = 64 << 20        // bytes waiting to be written; beyond the limit the recorder stops
	maxFile      = 256 << 20       // bytes of a file
	closeTimeout = 2 * time.Second // how long Close waits for a blocked file
)

// Magic begins each trace. Only an empty file or an earlier trace is overwritten.
const Magic = "hermes-ls trace 1"

// Recording describes a recording.
type Recording struct {
	Protocol string    `json:"protocol"` // lsp or acp
	Version  string    `json:"version"`  // of hermes-ls
	Cwd      string    `json:"cwd"`      // of the server
	Home     string    `json:"home"`     // $HERMES_HOME
	Start    time.Time `json:"start"`
}

// Options of a recorder.
type Options struct {
	Recording
	Redact func(value []byte) (redacted []byte, isJSON bool) // required
	Failed func(error)                                       // called once if the recorder stops; nil: not
}

// Recorder writes a trace.
type Recorder struct {
	o     Options
	start time.Time
	done  chan struct{} // closed when the goroutine has returned

	mu      sync.Mutex
	wake    *sync.Cond
	waiting []entry
	size    int
	closed  bool
	failed  bool
}

// entry is a line of a trace.
type entry struct {
	at    time.Duration
	kind  string // client, server, model
	goal  string
	stray bool
	body  []byte
}

// Open starts a trace in a file with mode 0600. An existing file is overwritten if it is a trace of
// the user.
func Open(path string, o Options) (*Recorder, error) {
	file, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("opening the trace: %w; the session is not traced", err)
	}
	return New(file, o), nil
}

// New starts a trace on out, which [Recorder.Close] closes.
func New(out io.WriteCloser, o Options) *Recorder {
	r := &Recorder{o: o, start: time.Now(), done: make(chan struct{})}
	if r.o.Start.IsZero() {
		r.o.Start = r.start.UTC()
	}
	r.wake = sync.NewCond(&r.mu)
	go r.run(out)
	return r
}

// Frame records a frame; it is a [tap.Observer].
func (r *Recorder) Frame(f tap.Frame) {
	kind := "server"
	if f.FromClient {
		kind = "client"
	}
	r.add(entry{kind: kind, stray: f.Stray, body: bytes.Clone(f.Body)})
}

// Model records a response of the model, a JSON list of items as in the scripts of server/testdata.
// goal is the goal of the subagent, or empty for a session.
func (r *Recorder) Model(goal string, items []byte) {
	r.add(entry{kind: "model", goal: goal, body: items})
}

func (r *Recorder) add(e entry) {
	e.at = time.Since(r.start)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.failed {
		return
	}
	if r.size += len(e.body); r.size > maxQueue {
		r.failLocked(fmt.Errorf("the file takes less than the session writes"))
		return
	}
	r.waiting = append(r.waiting, e)
	r.wake.Signal()
}

// failLocked stops the recorder; the lock is held.
func (r *Recorder) failLocked(err error) {
	if r.failed {
		return
	}
	r.failed, r.waiting, r.size = true, nil, 0
	if r.o.Failed != nil {
		go r.o.Failed(fmt.Errorf("the trace ended: %w; the session goes on without it", err))
	}
}

// Close writes the pending frames and closes the file. If the file blocks, Close returns
// after a moment.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	r.wake.Signal()
	r.mu.Unlock()
	limit := time.NewTimer(closeTimeout)
	defer limit.Stop()
	select {
	case <-r.done:
		return nil
	case <-limit.C:
		return fmt.Errorf("the trace was not written to its end")
	}
}

func (r *Recorder) run(out io.WriteCloser) {
	defer close(r.done)
	w := &limited{out: out}
	buffered := bufio.NewWriterSize(w, 64<<10)
	err := r.head(buffered)
	for err == nil {
		batch, more := r.next()
		for _, e := range batch {
			r.line(buffered, e)
		}
		if err = buffered.Flush(); !more {
			break
		}
	}
	if failed := out.Close(); err == nil {
		err = failed
	}
	if err != nil {
		r.mu.Lock()
		r.failLocked(err)
		r.mu.Unlock()
	}
}

// next waits for entries. After the last entries, more is false.
func (r *Recorder) next() (batch []entry, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) == 0 && !r.closed && !r.failed {
		r.wake.Wait()
	}
	batch, r.waiting, r.size = r.waiting, nil, 0
	return batch, !r.closed && !r.failed
}

func (r *Recorder) head(w *bufio.Writer) error {
	about, err := json.Marshal(r.o.Recording)
	if err != nil {
		return err
	}
	about, _ = r.o.Redact(about)
	fmt.Fprintf(w, "%s, made by hermes-ls %s. It holds the texts of the session. CONTRIBUTING.md says how to play it.\n\n-- recording --\n%s\n-- trace --\n",
		Magic, r.o.Version, about)
	return w.Flush()
}

// line writes an entry. Errors stay in w, and Flush returns them.
func (r *Recorder) line(w *bufio.Writer, e entry) {
	fmt.Fprintf(w, "%.3f %s ", e.at.Seconds(), e.kind)
	if e.kind == "model" {
		goal, _ := r.o.Redact([]byte(strconv.Quote(e.goal)))
		fmt.Fprintf(w, "%s ", goal)
	}
	body, isJSON := r.o.Redact(e.body)
	switch {
	case e.stray:
		fmt.Fprintf(w, "stray %s\n", strconv.Quote(string(body)))
	case !isJSON:
		fmt.Fprintf(w, "raw %s\n", strconv.Quote(string(body)))
	default:
		_, _ = w.Write(append(body, '\n'))
	}
}

// limited ends a file at its maximum size.
type limited struct {
	out  io.Writer
	size int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.size += len(p); l.size > maxFile {
		return 0, fmt.Errorf("it has reached %d MB", maxFile>>20)
	}
	return l.out.Write(p)
}
