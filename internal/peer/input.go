package peer

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Input is the input of a program. Messages wait in a bounded queue. If the program does not read, no
// writer waits for it.
type Input struct {
	most   int           // limit of waiting bytes
	unread time.Duration // how long the program may leave them; 0: as long as it likes
	fail   func(error)   // is called once, if the program exceeds a limit

	mu     sync.Mutex
	more   *sync.Cond // there are messages, or the queue is closed
	queue  [][]byte
	size   int       // of the queue and of given
	given  int       // bytes of the last Read, which the program may not have taken yet
	since  time.Time // return of the last Read; zero during a Read
	timer  *time.Timer
	closed bool
	broken error // why nothing more is taken; nil: it is
}

func newInput(most int, unread time.Duration, fail func(error)) *Input {
	i := &Input{most: most, unread: unread, fail: fail}
	i.more = sync.NewCond(&i.mu)
	return i
}

// Write puts a message into the queue. If too much waits there, it returns an error, and the program is
// ended.
func (i *Input) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.broken != nil:
		return 0, i.broken
	case i.closed:
		return 0, io.ErrClosedPipe
	case i.size > 0 && i.size+len(p) > i.most:
		i.breaks(fmt.Errorf("it does not read its input: %d MB wait", i.most>>20))
		return 0, i.broken
	}
	i.size += len(p)
	i.queue = append(i.queue, append([]byte(nil), p...))
	i.more.Signal()
	return len(p), nil
}

// breaks ends the queue. The caller holds mu.
func (i *Input) breaks(why error) {
	if i.broken == nil && !i.closed {
		i.broken = why
		i.end()
		go i.fail(why) // ends at once
	}
}

// Read gives the next bytes to the program. The process calls it again when the program has taken them.
func (i *Input) Read(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.size, i.given, i.since = i.size-i.given, 0, time.Time{}
	if i.timer != nil {
		i.timer.Stop()
	}
	for len(i.queue) == 0 && !i.closed {
		i.more.Wait()
	}
	if len(i.queue) == 0 {
		return 0, io.EOF
	}
	n := copy(p, i.queue[0])
	if i.queue[0] = i.queue[0][n:]; len(i.queue[0]) == 0 {
		i.queue = i.queue[1:]
	}
	i.given, i.since = n, time.Now()
	if i.unread > 0 && !i.closed {
		if i.timer == nil {
			i.timer = time.AfterFunc(i.unread, i.late)
		}
		i.timer.Reset(i.unread)
	}
	return n, nil
}

// late ends the queue if the program has not read for too long.
func (i *Input) late() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.since.IsZero() && time.Since(i.since) >= i.unread {
		i.breaks(fmt.Errorf("it did not read its input for %v", i.unread))
	}
}

// Unread returns for how long the program has not read, while something waits.
func (i *Input) Unread() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.since.IsZero() {
		return 0
	}
	return time.Since(i.since)
}

// Close ends the input. If the program reads, it still receives the waiting messages.
func (i *Input) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.end()
	return nil
}

// end does the work of Close. The caller holds mu.
func (i *Input) end() {
	i.closed = true
	if i.timer != nil {
		i.timer.Stop()
	}
	i.more.Signal()
}
