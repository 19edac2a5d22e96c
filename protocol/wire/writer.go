// Package wire carries JSON-RPC messages over a pair of pipes: one writer for all output, and two
// framings, lines and headers.
//
// A [Writer] never makes a turn wait for a slow reader below a generous bound, and never drops a
// response. The readers continue after bad input: they answer an invalid frame with an error and
// read the next frame. The package knows no methods.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	maxWaiting = 16 << 20               // bytes waiting for the reader
	mergeFrom  = 32                     // notes merge while so many messages wait
	maxWrite   = 1 << 20                // bytes per call of Write
	stallLimit = 30 * time.Second       // a full queue ends the writer if it does not move for this time
	closeGrace = 250 * time.Millisecond // for the messages waiting at Close
)

// ErrStalled reports that the other side has stopped reading.
var ErrStalled = errors.New("the other side has stopped reading")

// ErrClosed reports a closed writer.
var ErrClosed = errors.New("the connection is closed")

// Framing appends message to dst as it goes over the wire.
type Framing func(dst, message []byte) []byte

// Note is a notification. While notifications wait, they may be merged: the reader then gets fewer
// messages with the same content.
type Note interface {
	// AppendJSON appends the whole message. It is called once, after which the
	// note is not used again.
	AppendJSON(dst []byte) ([]byte, error)
	// Merge takes in a later note of the same key, and reports whether it did.
	Merge(later Note) bool
	// Size is roughly how many bytes the note holds.
	Size() int
}

// Writer writes messages to an output from a single goroutine, in the order in which it receives
// them. If several messages wait, it writes them together. It is safe for concurrent use.
type Writer struct {
	out   io.Writer
	frame Framing
	wake  chan struct{} // buffered, one element: there is something to write
	done  chan struct{} // closed when the goroutine has returned

	mu      sync.Mutex
	waiting []message
	last    map[string]int // key → index in waiting of its last note
	size    int            // bytes waiting or being written
	moved   chan struct{}  // closed, and replaced, when a batch has been written
	err     error          // why nothing more is taken
}

// message is a note, or encoded bytes.
type message struct {
	note  Note
	ready []byte
}

// NewWriter starts a writer. [Writer.Close] ends it.
func NewWriter(out io.Writer, frame Framing) *Writer {
	w := &Writer{
		out: out, frame: frame,
		wake: make(chan struct{}, 1), done: make(chan struct{}), moved: make(chan struct{}),
		last: map[string]int{},
	}
	go w.run()
	return w
}

// Send queues a bare message: the writer frames it. From now on, the writer owns the bytes. An
// accepted message is never dropped while the output lives.
func (w *Writer) Send(m []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.room(); err != nil {
		return err
	}
	w.push(message{ready: m}, len(m))
	return nil
}

// Post queues a notification. While many messages wait, it is merged, if possible, into the last
// waiting notification of its key.
func (w *Writer) Post(key string, n Note) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.room(); err != nil {
		return err
	}
	if i, ok := w.last[key]; ok && len(w.waiting) >= mergeFrom {
		last := w.waiting[i].note
		before := last.Size()
		if last.Merge(n) {
			w.size += last.Size() - before
			return nil
		}
	}
	w.last[key] = len(w.waiting)
	w.push(message{note: n}, n.Size())
	return nil
}

// room waits, with the lock given up meanwhile, until there is some.
func (w *Writer) room() error {
	for w.err == nil && w.size >= maxWaiting {
		moved := w.moved
		w.mu.Unlock()
		stalled := time.NewTimer(stallLimit)
		select {
		case <-moved:
		case <-w.done:
		case <-stalled.C:
			w.fail(ErrStalled)
		}
		stalled.Stop()
		w.mu.Lock()
	}
	return w.err
}

// Drain waits until the queue holds no more than most bytes. It is for senders of much output, so
// others' messages do not wait behind it. It ends with ctx, and with the writer.
func (w *Writer) Drain(ctx context.Context, most int) error {
	for {
		w.mu.Lock()
		size, moved, err := w.size, w.moved, w.err
		w.mu.Unlock()
		if err != nil || size <= most {
			return err
		}
		select {
		case <-moved:
		case <-w.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *Writer) push(m message, size int) {
	w.waiting = append(w.waiting, m)
	w.size += size
	w.signal()
}

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Queues contains the sizes of the queues of a connection, for the debug socket.
type Queues struct {
	Messages int // our messages waiting to be written
	Bytes    int // of theirs
	Requests int // requests of the client, queued or running
	Held     int // messages after a response that the client has not read
}

// Waiting returns how many messages wait to be written, and their size.
func (w *Writer) Waiting() (messages, bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting), w.size
}

// Done is closed when nothing more will be written: after Close, or when the
// output has failed.
func (w *Writer) Done() <-chan struct{} { return w.done }

// Close accepts no more messages and writes the waiting messages. If the reader does not read,
// Close returns after closeGrace while a write is still blocked. Close the output to end the write.
func (w *Writer) Close() error {
	w.fail(ErrClosed)
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-w.done:
		return nil
	case <-grace.C:
		return ErrStalled
	}
}

func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.signal()
}

func (w *Writer) run() {
	defer close(w.done)
	var batch []message
	var buf []byte
	for range w.wake {
		for {
			var size int
			batch, size = w.take(batch)
			if len(batch) == 0 {
				break
			}
			var err error
			if buf, err = w.write(buf, batch); err != nil {
				w.fail(fmt.Errorf("writing to the other side: %w", err))
				return
			}
			clear(batch)
			w.wrote(size)
		}
		if w.ended() {
			return
		}
	}
}

// take returns the waiting messages. The memory of empty becomes the new list.
func (w *Writer) take(empty []message) ([]message, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch := w.waiting
	w.waiting = empty[:0]
	clear(w.last)
	return batch, w.size
}

func (w *Writer) wrote(size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size -= size
	close(w.moved)
	w.moved = make(chan struct{})
}

func (w *Writer) ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil && len(w.waiting) == 0
}

// write encodes a batch into buf and writes it in as few calls as is sensible.
func (w *Writer) write(buf []byte, batch []message) ([]byte, error) {
	buf = buf[:0]
	var body []byte
	for _, m := range batch {
		if m.note == nil {
			buf = w.frame(buf, m.ready)
		} else if b, err := m.note.AppendJSON(body[:0]); err == nil { // a note is dropped if it cannot be encoded
			body = b
			buf = w.frame(buf, body)
		}
		if len(buf) >= maxWrite {
			if _, err := w.out.Write(buf); err != nil {
				return buf, err
			}
			buf = buf[:0]
		}
	}
	if len(buf) > 0 {
		if _, err := w.out.Write(buf); err != nil {
			return buf, err
		}
	}
	if cap(buf) > 4*maxWrite {
		buf = nil
	}
	return buf, nil
}

// Notification is a note that never merges.
func Notification(method string, params any) Note {
	return &notification{method, params}
}

type notification struct {
	method string
	params any
}

func (n *notification) AppendJSON(dst []byte) ([]byte, error) {
	return AppendNotification(dst, n.method, n.params)
}

func (n *notification) Merge(Note) bool { return false }

// Size cannot be known before encoding. Large notifications use their own Note.
func (n *notification) Size() int { return 256 }

// AppendNotification appends a notification.
func AppendNotification(dst []byte, method string, params any) ([]byte, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return dst, fmt.Errorf("encoding %s: %w", method, err)
	}
	dst = append(dst, `{"jsonrpc":"2.0","method":"`...)
	dst = append(dst, method...)
	dst = append(dst, `","params":`...)
	dst = append(dst, body...)
	return append(dst, '}'), nil
}
