//go:build unix

package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// output copies the output of a child.
type output struct {
	r    *os.File
	w    io.Writer
	end  atomic.Int64 // once the child is gone: when copying ends at the latest, UnixNano
	done chan struct{}
	err  error // of w; valid once done
}

func newOutput(r *os.File, w io.Writer) *output {
	o := &output{r: r, w: w, done: make(chan struct{})}
	go o.copy()
	return o
}

// buffers are for outputs: most commands write little, and none keeps its buffer.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

func (o *output) copy() {
	defer close(o.done)
	defer o.r.Close() // a still writing process gets SIGPIPE
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	buf := *buffer
	for {
		n, err := o.r.Read(buf)
		if n > 0 {
			if _, o.err = o.w.Write(buf[:n]); o.err != nil {
				return
			}
			o.extend()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) { // nothing came for a while after the child's end
			o.copyRest(buf)
		}
		if err != nil {
			return
		}
	}
}

// mostRest is the number of reads in which copyRest empties any pipe.
const mostRest = 64

// copyRest copies the content of the pipe and does not wait for more. A read after its deadline
// returns nothing, also if the process was too busy to read in time.
func (o *output) copyRest(buf []byte) {
	if o.r.SetReadDeadline(time.Time{}) != nil {
		return
	}
	raw, err := o.r.SyscallConn()
	if err != nil {
		return
	}
	for range mostRest {
		n := 0
		raw.Read(func(fd uintptr) bool { // n is checked below
			n, _ = syscall.Read(int(fd), buf)
			return true
		})
		if n <= 0 {
			return
		}
		if _, o.err = o.w.Write(buf[:n]); o.err != nil {
			return
		}
	}
}

// drain continues copying for a short while, as long as bytes arrive.
func (o *output) drain() {
	o.end.CompareAndSwap(0, time.Now().Add(longestDrain).UnixNano())
	o.extend()
}

func (o *output) extend() {
	end := o.end.Load()
	if end == 0 {
		return
	}
	next := time.Now().Add(quiet)
	if last := time.Unix(0, end); last.Before(next) {
		next = last
	}
	o.r.SetReadDeadline(next) // fails only once it is closed
}

// input copies a reader to the child.
type input struct {
	w    *os.File
	r    io.Reader
	done chan struct{}
	err  error
}

func newInput(w *os.File, r io.Reader) *input {
	i := &input{w: w, r: r, done: make(chan struct{})}
	go i.copy()
	return i
}

func (i *input) copy() {
	defer close(i.done)
	_, err := io.Copy(i.w, i.r)
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
		i.err = err // a child need not read to the end
	}
	i.w.Close() // the child sees the end, or is gone
}

// close ends the copying; the child is gone.
func (i *input) close() error {
	i.w.Close() // see copy
	if c, ok := i.r.(io.Closer); ok {
		c.Close() // only to wake a Read
	}
	<-i.done
	return i.err
}
