package codeexec

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

// The wire. A connection begins with the line "hermes-1 TOKEN". Then requests:
//
//	uint32 length of what follows | uint32 number | name | NUL | arguments, a JSON object
//
// and, in any order, answers, see [framer.frame].
//
// Not JSON-RPC in lines: there a result of 100 KB is parsed and written anew by
// encoding/json on its way out, and arguments on their way in, each by the library
// and again by us. With sourcegraph/jsonrpc2 and a stream of our own a call took two to three
// times as long as with this, at 20 bytes and at 100 KB. With lengths in front the
// result's bytes go out as the tool made them, and what is too long is skipped
// without being read into memory.
const (
	helloWord    = "hermes-1 "
	helloLimit   = 5 * time.Second
	maxArguments = 16 << 20 // bytes of one call's
	maxHeld      = 64 << 20 // bytes of all calls' arguments at a time
	maxSkipped   = 1 << 30  // bytes of a request that is too long but still skipped
	maxLinks     = 300      // connections at a time; further ones wait for their place
	together     = 32       // calls that run at a time
	patience     = 2 * time.Millisecond
	long         = time.Millisecond // what a call takes that a reader had better not run itself
	wary         = 100              // calls that it does not, after one that took long
	restful      = 100              // looks at readers that do nothing, until nobody looks any more
	insistence   = 1000             // refused calls after which a script is ended
	maxRecorded  = 500              // calls that a transcript tells of
	maxKept      = 16 << 10         // bytes of the arguments of each
	mostSpare    = 256 << 10        // bytes that a connection keeps to write the next answer in
)

const lateText = "No script is running any more: this call comes too late."

// socket serves the calls of one script, or of a kernel's scripts one after another.
type socket struct {
	path, token string
	listener    *net.UnixListener
	ctx         context.Context // of everything
	cancel      context.CancelFunc
	working     sync.WaitGroup // our goroutines
	slots       chan struct{}  // of calls that run
	places      chan struct{}  // of connections

	desk atomic.Pointer[desk] // of the script that runs; nil: none
	held atomic.Int64         // bytes of arguments

	resting atomic.Bool   // the overseer waits for awake
	awake   chan struct{} // a reader runs a call again

	mu     sync.Mutex
	links  map[net.Conn]*link
	closed bool
}

// desk is where the calls of one script are taken.
type desk struct {
	allowed []string
	limit   int // of calls
	run     func(ctx context.Context, tool string, args json.RawMessage) tools.Result
	// stubborn is called once when the script goes on calling after its limit. It
	// may not wait.
	stubborn func()

	ctx    context.Context // of the calls
	cancel context.CancelFunc
	calls  sync.WaitGroup // those that were taken

	mu      sync.Mutex
	shut    bool
	made    int // calls that count
	refused int
	lastOne chan struct{} // closed when the newest writing call has ended
	current []*running    // calls that run, oldest first
	record  []tools.Inner
	shown   []tools.Content // what the calls would show of files
}

// running is a call that was taken and has no answer yet.
type running struct {
	tool   string
	args   json.RawMessage
	before <-chan struct{} // closed when the writing call before this one has ended; nil: there is none
	done   chan struct{}   // to be closed when this one has; nil: it does not write
}

// listen opens a socket in a folder that is private already. It has to be closed.
func listen(ctx context.Context, path string) (*socket, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("opening the script's socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the script's socket: %w", err), listener.Close())
	}
	s := &socket{
		path: path, token: rand.Text(), listener: listener,
		slots: make(chan struct{}, together), places: make(chan struct{}, maxLinks), links: map[net.Conn]*link{},
		awake: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.working.Go(s.accept)
	s.working.Go(s.oversee)
	return s, nil
}

// open takes calls at d from now on.
func (s *socket) open(ctx context.Context, d *desk) {
	d.ctx, d.cancel = context.WithCancel(ctx)
	s.desk.Store(d)
}

// shut takes no more calls, cancels those under way, and waits for them.
func (s *socket) shut() {
	d := s.desk.Swap(nil)
	if d == nil {
		return
	}
	d.mu.Lock()
	d.shut = true
	d.mu.Unlock()
	d.cancel()
	d.calls.Wait()
}

// close shuts, and takes the socket away.
func (s *socket) close() {
	s.shut()
	s.mu.Lock()
	s.closed = true
	for conn := range s.links {
		conn.Close() //nolint:errcheck // its reader ends
	}
	s.mu.Unlock()
	s.cancel()
	s.listener.Close() //nolint:errcheck // it is open, or closed already
	s.working.Wait()
}

// accept takes a connection when there is a place for it. One that finds none waits
// in the listener's queue, as a script's next one may come before we have seen that
// its last ones are closed.
func (s *socket) accept() {
	for {
		select {
		case s.places <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		conn, err := s.next()
		if err != nil {
			return
		}
		l := &link{conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}
		if !s.admit(l) {
			return
		}
		s.working.Go(func() { s.serve(l) })
	}
}

// next is the next connection. It fails when the socket is closed.
func (s *socket) next() (*net.UnixConn, error) {
	for {
		conn, err := s.listener.AcceptUnix()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return conn, err
		}
		select { // no descriptors are left: some will be
		case <-time.After(20 * time.Millisecond):
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}

// admit keeps a connection, unless the socket has been closed.
func (s *socket) admit(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		l.conn.Close() //nolint:errcheck // nothing was said
		return false
	}
	s.links[l.conn] = l
	return true
}

func (s *socket) dismiss(conn net.Conn) {
	s.mu.Lock()
	delete(s.links, conn)
	s.mu.Unlock()
	conn.Close() //nolint:errcheck // closed already is as good
	<-s.places
}

// link is one connection; a script that forks has several.
type link struct {
	conn *net.UnixConn
	in   *bufio.Reader
	mu   sync.Mutex // held while an answer is written
	out  framer

	reader atomic.Pointer[atomic.Bool] // set while the reader runs a call: who reads on
	slow   atomic.Int32                // so many calls the reader does not run itself
}

func (s *socket) serve(l *link) {
	if err := s.greet(l); err != nil {
		l.answer(0, tools.Fail("This connection is refused: %v.", err))
		s.dismiss(l.conn)
		return
	}
	s.read(l)
}

// read takes requests until the connection ends.
func (s *socket) read(l *link) {
	for {
		number, tool, args, err := s.receive(l)
		var tooLong *tooLongError
		switch {
		case errors.As(err, &tooLong):
			if !s.attend(l, func() { l.answer(number, tools.Fail("%v", err)) }) {
				return
			}
		case err != nil:
			s.dismiss(l.conn)
			return
		default:
			if !s.take(l, number, tool, args) {
				return
			}
		}
	}
}

// greet checks who calls.
func (s *socket) greet(l *link) error {
	if err := checkPeer(l.conn); err != nil {
		return err
	}
	l.conn.SetReadDeadline(time.Now().Add(helloLimit)) //nolint:errcheck // a closed one fails below
	want := []byte(helloWord + s.token + "\n")
	said, err := l.in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("it said no hello: %w", err)
	}
	if subtle.ConstantTimeCompare(said, want) != 1 {
		return errors.New("it does not know the token of this script")
	}
	return l.conn.SetReadDeadline(time.Time{})
}

// tooLongError is a request that was skipped.
type tooLongError struct{ size int }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("The arguments are too long: %d bytes, and %d MB is the most. Nothing was done. Write large data to a file with Python instead.", e.size, maxArguments>>20)
}

// receive reads a request. An error that is no *tooLongError ends the connection.
func (s *socket) receive(l *link) (number uint32, tool string, args []byte, err error) {
	head, err := l.in.Peek(8)
	if err != nil {
		return 0, "", nil, err
	}
	size := int(binary.BigEndian.Uint32(head)) - 4
	number = binary.BigEndian.Uint32(head[4:])
	_, _ = l.in.Discard(8) // it is there
	switch {
	case size < 0:
		return number, "", nil, errors.New("a request with a wrong length")
	case size > maxSkipped:
		return number, "", nil, errors.New("a request of absurd length")
	case size > maxArguments || !s.hold(size):
		if _, err := io.CopyN(io.Discard, l.in, int64(size)); err != nil {
			return number, "", nil, err
		}
		return number, "", nil, &tooLongError{size}
	}
	body, err := readAll(l.in, size)
	if err != nil {
		s.hold(-size)
		return number, "", nil, err
	}
	name, args, _ := bytes.Cut(body, []byte{0})
	s.hold(len(args) - size)
	return number, string(name), args, nil
}

// readAll reads n bytes. Memory grows with what comes, not with what is announced.
func readAll(r io.Reader, n int) ([]byte, error) {
	if n <= 1<<20 {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, err
	}
	var b bytes.Buffer
	_, err := io.CopyN(&b, r, int64(n))
	return b.Bytes(), err
}

// hold counts bytes of arguments, and says no to too many.
func (s *socket) hold(n int) bool {
	if s.held.Add(int64(n)) > maxHeld && n > 0 {
		s.held.Add(int64(-n))
		return false
	}
	return true
}

// take decides about a call and runs it. It tells whether the caller goes on reading.
//
// Most calls run in the reader's own goroutine: waking another for each doubles the
// cost of a small one. But calls that wait behind it must not wait long, so when
// there are some already, or the tool takes its time, it gets a goroutine, and when
// it turns out to be slow, [socket.oversee] has another goroutine read on.
func (s *socket) take(l *link, number uint32, tool string, args []byte) (readOn bool) {
	d := s.desk.Load()
	if d == nil {
		s.hold(-len(args))
		return s.attend(l, func() { l.answer(number, tools.Fail(lateText)) })
	}
	call, refusal := d.enter(tool, args)
	if refusal != "" {
		s.hold(-len(args))
		return s.attend(l, func() { l.answer(number, tools.Fail("%s", refusal)) })
	}
	if l.isWary() || l.in.Buffered() > 0 || !slices.Contains(quick, tool) {
		s.working.Go(func() { s.perform(d, call, l, number) })
		return true
	}
	return s.attend(l, func() { s.perform(d, call, l, number) })
}

// isWary tells whether the reader had better not run the next call itself.
func (l *link) isWary() bool {
	if l.slow.Load() <= 0 {
		return false
	}
	l.slow.Add(-1)
	return true
}

// attend has the reader do something else that may take long, be it only to write while
// the script does not read. It tells whether the reader goes on: it does not, when it
// was away so long that another one has taken its place.
func (s *socket) attend(l *link, work func()) (readOn bool) {
	mine := new(atomic.Bool)
	l.reader.Store(mine)
	if s.resting.Load() && s.resting.CompareAndSwap(true, false) {
		s.awake <- struct{}{} // it has room for the one that we may send
	}
	work()
	l.reader.CompareAndSwap(mine, nil) // another reader's stays
	return mine.CompareAndSwap(false, true)
}

// perform runs a call when it is its turn, notes it, and answers it: the script's next
// call comes after it in the transcript.
func (s *socket) perform(d *desk, call *running, l *link, number uint32) {
	defer d.calls.Done()
	defer s.hold(-len(call.args))
	if call.before != nil {
		<-call.before // a writing call ends even when it is cancelled
	}
	if call.done != nil {
		defer close(call.done)
	}
	if !s.enter(d.ctx) {
		return // the script has ended
	}
	defer func() { <-s.slots }()
	began := time.Now()
	result := d.run(d.ctx, call.tool, call.args)
	took := time.Since(began)
	if took > long {
		l.slow.Store(wary)
	}
	d.leave(call, result, took)
	if d.ctx.Err() == nil { // else the script is being ended, and goes no further
		l.answer(number, result)
	}
}

// enter takes a place among the calls that run; false: ctx ended before there was one.
func (s *socket) enter(ctx context.Context) bool {
	select {
	case s.slots <- struct{}{}: // nearly always, and cheaper than a choice
		return true
	default:
	}
	select {
	case s.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// oversee looks for readers that are held up by a call, and puts others in their
// place. Whoever is first to set the reader's flag reads on.
func (s *socket) oversee() {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	var before map[*link]*atomic.Bool
	for quiet := 0; ; quiet++ {
		if quiet > restful {
			s.rest()
			quiet = 0
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		now := s.attending()
		for l, flag := range now {
			quiet = 0
			if before[l] == flag && flag.CompareAndSwap(false, true) {
				l.slow.Store(wary)
				s.working.Go(func() { s.read(l) })
			}
		}
		before = now
	}
}

// rest waits until a reader runs a call.
func (s *socket) rest() {
	s.resting.Store(true)
	if len(s.attending()) > 0 && s.resting.CompareAndSwap(true, false) {
		return
	}
	select {
	case <-s.awake:
	case <-s.ctx.Done():
	}
}

// attending are the links whose readers run a call.
func (s *socket) attending() map[*link]*atomic.Bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var now map[*link]*atomic.Bool
	for _, l := range s.links {
		if flag := l.reader.Load(); flag != nil {
			if now == nil {
				now = map[*link]*atomic.Bool{}
			}
			now[l] = flag
		}
	}
	return now
}

// enter takes a place for a call, or says why there is none. A writing call gets to
// know its predecessor.
func (d *desk) enter(tool string, args []byte) (call *running, refusal string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if refusal = d.refuse(tool, args); refusal != "" {
		d.refused++
		d.note(tool, args, 0, "refused")
		return nil, refusal
	}
	d.made++
	d.calls.Add(1)
	call = &running{tool: tool, args: args}
	if slices.Contains(writes, tool) {
		call.done = make(chan struct{})
		call.before, d.lastOne = d.lastOne, call.done
	}
	d.current = append(d.current, call)
	return call, ""
}

// refuse says why a call is not taken; empty: it is. Its caller holds mu.
func (d *desk) refuse(tool string, args []byte) string {
	switch {
	case d.shut:
		return lateText
	case !slices.Contains(d.allowed, tool):
		return fmt.Sprintf("Tool '%s' is not available in execute_code. Use it as a normal tool call instead.", shorten(tool, 80))
	case d.made >= d.limit:
		if d.refused+1 == insistence && d.stubborn != nil {
			d.stubborn() // a script that does not look at its answers would go on for ever
		}
		return fmt.Sprintf("Tool call limit reached (%d). No more tool calls allowed in this execution.", d.limit)
	case tool == "terminal":
		return foreground(args)
	}
	return ""
}

// leave is when a call has its result.
func (d *desk) leave(call *running, result tools.Result, took time.Duration) {
	status := "completed"
	switch {
	case d.ctx.Err() != nil:
		status = "interrupted"
	case result.IsError:
		status = "failed"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(call.tool, call.args, took, status)
	d.current = slices.DeleteFunc(d.current, func(c *running) bool { return c == call })
	for _, c := range result.Shown {
		if c.Diff != nil {
			d.shown = append(d.shown, c)
		}
	}
}

// note remembers a call for the transcript. Its caller holds mu.
func (d *desk) note(tool string, args []byte, took time.Duration, status string) {
	if len(args) > maxKept {
		args = bytes.Clone(args[:maxKept])
	}
	if len(d.record) < maxRecorded {
		d.record = append(d.record, tools.Inner{Tool: tool, Arguments: args, Duration: seconds(took), Status: status})
	}
}

// records are the calls for the transcript, and the changes of files for the editor.
func (d *desk) records() (calls []tools.Inner, changes []tools.Content) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.record {
		d.record[i].Tool = shorten(d.record[i].Tool, 80)
		d.record[i].Arguments = abridged(d.record[i].Arguments)
	}
	return d.record, d.shown
}

// counts tells what has been done so far, and what is being done.
func (d *desk) counts() (made int, now *running) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.current); n > 0 {
		now = d.current[n-1]
	}
	return d.made, now
}

// answer writes one. A connection that is gone needs none.
func (l *link) answer(number uint32, result tools.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	plain, texts, ok := l.out.frameSource(number, result)
	if !ok {
		plain, texts = l.out.frame(number, result.JSON)
	}
	if len(texts) == 0 { // one write costs less than gathering
		_, _ = l.conn.Write(plain)
		return
	}
	_, _ = (&net.Buffers{plain, texts}).WriteTo(l.conn)
}
