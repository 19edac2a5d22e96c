package shell

import (
	"errors"
	"io"
	"sync"
)

// keyboardLimit is the maximum input buffered for a process that does not read.
const keyboardLimit = 1 << 20

// endOfInput, typed, ends the input, as Ctrl-D does in a terminal.
const endOfInput = 0x04

// keyboard is the stdin of a background process: typed text waits until the process reads
// it. It is safe for concurrent use.
type keyboard struct {
	pty bool // Ctrl-D is the terminal's affair

	mu     sync.Mutex
	typed  []byte
	ended  bool
	closed bool
	change chan struct{} // capacity 1
}

func newKeyboard(pty bool) *keyboard { return &keyboard{pty: pty, change: make(chan struct{}, 1)} }

// write types text.
func (k *keyboard) write(text string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return errors.New("the process has ended, or has closed its input")
	case k.ended:
		return errors.New("the input was ended already")
	case len(k.typed)+len(text) > keyboardLimit:
		return errors.New("the process does not read its input: too much waits already")
	}
	for i := range len(text) {
		if text[i] == endOfInput && !k.pty {
			k.ended = true
			break
		}
		k.typed = append(k.typed, text[i])
	}
	k.wake()
	return nil
}

func (k *keyboard) wake() {
	select {
	case k.change <- struct{}{}:
	default:
	}
}

// Read waits for something typed.
func (k *keyboard) Read(b []byte) (int, error) {
	for {
		k.mu.Lock()
		n := copy(b, k.typed)
		k.typed = k.typed[n:]
		over := k.closed || k.ended && len(k.typed) == 0
		k.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case over:
			return 0, io.EOF
		}
		<-k.change
	}
}

// Close wakes the reader: the process is gone.
func (k *keyboard) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.wake()
	return nil
}
