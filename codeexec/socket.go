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
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

// The wire. Both sides send frames: a length (uint32, big-endian) and so many bytes. The first
// frame of a connection is the token of the run. Each further frame is a request, {"tool": NAME,
// "args": {…}}, and the server responds with one frame, the tool result. A connection runs one call
// at a time. For concurrent calls, a script opens more connections.
const (
	tokenTimeout = 30 * time.Second // for the first frame
	maxRequest   = 16 << 20         // bytes per request
	maxPending   = 64 << 20         // bytes of all requests at a time
	maxSkipped   = 1 << 30          // bytes of a request that is rejected without closing the connection
	maxConns     = 300              // at a time; more wait
	maxRunning   = 32               // calls at a time; more wait
)

const lateText = "No script is running any more: this call comes too late."

// socket serves the calls of a single script, or of all scripts of a kernel.
type socket struct {
	path, token string
	listener    *net.UnixListener
	ctx         context.Context // ends with close
	cancel      context.CancelFunc
	serving     sync.WaitGroup
	conns       chan struct{}             // holds an element for each connection
	running     chan struct{}             // holds an element for each running call
	pending     atomic.Int64              // bytes of requests
	queue       atomic.Pointer[callQueue] // of the running script; nil: no script runs
}

// listen opens a socket at path, which must be in a private directory. The caller
// must close it.
func listen(path string) (*socket, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("opening the script's socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the script's socket: %w", err), listener.Close())
	}
	s := &socket{
		path: path, token: rand.Text(), listener: listener,
		conns: make(chan struct{}, maxConns), running: make(chan struct{}, maxRunning),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.serving.Go(s.accept)
	return s, nil
}

// open makes q take the calls from now on. ctx is the context of the script.
func (s *socket) open(ctx context.Context, q *callQueue) {
	q.script = ctx
	q.ctx, q.cancel = context.WithCancel(ctx)
	s.queue.Store(q)
}

// shut rejects further calls, cancels the running calls, and waits for them.
func (s *socket) shut() {
	if q := s.queue.Swap(nil); q != nil {
		q.close()
	}
}

// close shuts the socket, closes its connections, and removes it.
func (s *socket) close() {
	s.shut()
	s.cancel()
	s.listener.Close() // it is open, or closed already
	s.serving.Wait()
}

// accept serves each connection in a goroutine. If maxConns are open, further connections wait in
// the listener's queue.
func (s *socket) accept() {
	for {
		select {
		case s.conns <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		conn, err := s.acceptNext()
		if err != nil {
			return
		}
		s.serving.Go(func() {
			s.serve(conn)
			<-s.conns
		})
	}
}

// acceptNext returns the next connection. If the process has no free file descriptor, it waits for
// one. It returns an error if the socket is closed.
func (s *socket) acceptNext() (*net.UnixConn, error) {
	for {
		conn, err := s.listener.AcceptUnix()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return conn, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}

// serve answers the requests of a connection until it ends or the socket is closed.
func (s *socket) serve(conn *net.UnixConn) {
	defer conn.Close()
	stop := context.AfterFunc(s.ctx, func() { conn.Close() })
	defer stop()
	in := bufio.NewReaderSize(conn, 16<<10)
	if err := s.authenticate(conn, in); err != nil {
		writeFrame(conn, tools.Fail("This connection is rejected: %v.", err).JSON) // it is closed anyway
		return
	}
	for {
		result, err := s.answer(in)
		if err != nil || writeFrame(conn, result.JSON) != nil {
			return
		}
	}
}

// authenticate returns an error if the peer is another user or does not send the token.
func (s *socket) authenticate(conn *net.UnixConn, in *bufio.Reader) error {
	if err := checkPeer(conn); err != nil {
		return err
	}
	conn.SetReadDeadline(time.Now().Add(tokenTimeout)) // on a closed connection, the read below fails
	size, err := readSize(in)
	if err != nil {
		return fmt.Errorf("it sent no token: %w", err)
	}
	token := make([]byte, min(size, len(s.token)))
	if _, err := io.ReadFull(in, token); err != nil {
		return fmt.Errorf("it sent no token: %w", err)
	}
	if size != len(s.token) || subtle.ConstantTimeCompare(token, []byte(s.token)) != 1 {
		return errors.New("it does not know the token of this script")
	}
	return conn.SetReadDeadline(time.Time{})
}

// request is a call as a script sends it.
type request struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// answer reads a request, runs the call, and returns its result. It returns an error if the
// connection is unusable.
func (s *socket) answer(in *bufio.Reader) (tools.Result, error) {
	size, err := readSize(in)
	if err != nil {
		return tools.Result{}, err
	}
	if size > maxSkipped {
		return tools.Result{}, fmt.Errorf("a request of %d bytes", size)
	}
	if size > maxRequest {
		_, err := io.CopyN(io.Discard, in, int64(size))
		return tools.Fail("The arguments are too long: %d bytes, and %d MB is the most. Nothing was done. Write large data to a file with Python instead.", size, maxRequest>>20), err
	}
	var body bytes.Buffer // grows with the received bytes, not to the announced size
	held := &counted{Reader: in, total: &s.pending}
	defer held.release()
	switch read, err := io.CopyN(&body, held, int64(size)); {
	case held.over:
		_, err := io.CopyN(io.Discard, in, int64(size)-read)
		return tools.Fail("The calls that run at the same time have more than %d MB of arguments. Nothing was done. Make fewer at once, or write large data to a file with Python instead.", maxPending>>20), err
	case err != nil:
		return tools.Result{}, err
	}
	var r request
	if err := json.Unmarshal(body.Bytes(), &r); err != nil {
		return tools.Fail("The request is not valid: %v. Nothing was done.", err), nil
	}
	return s.call(r)
}

// counted is a reader that adds its bytes to total. Beyond maxPending, it returns
// io.ErrUnexpectedEOF.
type counted struct {
	io.Reader
	own   int64
	total *atomic.Int64
	over  bool
}

func (c *counted) Read(p []byte) (int, error) {
	if c.over {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Reader.Read(p)
	c.own += int64(n)
	c.over = c.total.Add(int64(n)) > maxPending
	return n, err
}

func (c *counted) release() { c.total.Add(-c.own) }

// call runs a request of a script. If the script is being ended, call waits until the socket is
// closed and returns an error: the script must not continue with a failed call.
func (s *socket) call(r request) (tools.Result, error) {
	q := s.queue.Load()
	if q == nil {
		return tools.Fail(lateText), nil
	}
	result := q.call(s.running, r.Tool, r.Args)
	if q.script.Err() != nil {
		<-s.ctx.Done()
		return result, s.ctx.Err()
	}
	return result, nil
}

// readSize reads the length of a frame.
func readSize(in io.Reader) (int, error) {
	var head [4]byte
	_, err := io.ReadFull(in, head[:])
	return int(binary.BigEndian.Uint32(head[:])), err
}

func writeFrame(conn *net.UnixConn, body []byte) error {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	_, err := (&net.Buffers{head, body}).WriteTo(conn)
	return err
}

// checkPeer returns an error if conn is of another user.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	uid, uidErr := 0, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, uidErr = peerUID(int(fd)) }); err != nil {
		return err
	}
	if uidErr == nil && uid != os.Getuid() {
		uidErr = fmt.Errorf("the caller is user %d", uid)
	}
	return uidErr
}
