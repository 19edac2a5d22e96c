package plugins

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/peer"
	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// Limits of a plugin's process.
const (
	idleLimit    = 5 * time.Second   // without work in initialize, see [process.idle]
	startLimit   = 60 * time.Second  // for initialize, see [Options]
	toolLimit    = 120 * time.Second // for a tool and a slash command
	grace        = 200 * time.Millisecond
	largestLine  = 16 << 20         // bytes of a message
	mostWaiting  = 32 << 20         // unread bytes waiting for a plugin
	mostUnread   = 30 * time.Second // for which a plugin may leave them
	mostCalling  = 16               // concurrent tool calls of a plugin
	mostExits    = 3                // in exitWindow; then the plugin is off
	exitWindow   = 5 * time.Minute
	longestLog   = 2000 // bytes of a line in the log
	protocolUsed = 1
)

// initializing is the first message to a plugin.
type initializing struct {
	Protocol int    `json:"protocol"`
	Root     string `json:"root"` // the plugin's directory
	Data     string `json:"data"` // the plugin's writable directory
	Settings any    `json:"settings"`
}

// process is a running plugin.
type process struct {
	*peer.Peer
	plugin  Plugin
	rpc     *jsonrpc2.Conn
	log     func(line string)
	offer   Offer
	next    atomic.Uint64
	calling chan struct{} // has room for the plugin's concurrent tool calls

	mu    sync.Mutex
	calls map[jsonrpc2.ID]*call
	last  *call    // the newest running call
	said  []string // the last lines of stderr
}

// call is a running request to the plugin. The plugin's requests during it belong to it.
type call struct {
	id       jsonrpc2.ID
	ctx      context.Context
	session  string
	progress func(text string)
	tool     func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
}

// start starts a plugin and initializes it. Confine bounds the process by the plugin's permissions.
// limit is the timeout of initialize. log gets output lines other than messages. trace gets each
// message; it may be nil.
func start(ctx context.Context, p Plugin, cmd proc.Cmd, limit time.Duration, init initializing, log, trace func(line string)) (*process, error) {
	x := &process{plugin: p, log: log, calls: map[jsonrpc2.ID]*call{}, calling: make(chan struct{}, mostCalling)}
	cmd.Stderr = &lines{write: x.stderr}
	var err error
	if x.Peer, err = peer.Start(ctx, cmd, peer.Options{Grace: grace, Most: mostWaiting, Unread: mostUnread}); err != nil {
		return nil, err
	}
	x.rpc = jsonrpc2.NewConn(context.Background(), &stream{in: bufio.NewReaderSize(x.Out, 64<<10), out: x.In, other: log, trace: trace, fail: x.Fail, only: x.only}, x, jsonrpc2.SetLogger(nothing{}))
	go func() { // ends with the process
		<-x.rpc.DisconnectNotify()
		x.Out.Close() // never fails
		x.Stop(grace)
	}()
	ctx, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer to initialize within %v", limit))
	defer stop()
	ctx, idle := context.WithCancelCause(ctx)
	defer idle(nil)
	go x.idle(ctx, func() { idle(fmt.Errorf("no answer to initialize, and no work on it for %v", idleLimit)) })
	if err := x.call(ctx, "initialize", init, &x.offer, &call{ctx: ctx}); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// idle calls over if the plugin does nothing for idleLimit: none of its processes uses the
// processor, waits for it, or waits for a disk. A busy machine only delays a plugin, and so does a
// large library that it loads. Where the system does not tell, any time counts.
func (x *process) idle(ctx context.Context, over func()) {
	const pause = idleLimit / 20
	var before uint64
	for left := idleLimit; left > 0; left -= pause {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if ticks, waits, ok := x.Work(); ok && (waits || ticks != before) {
			before, left = ticks, idleLimit+pause
		}
	}
	over()
}

type nothing struct{}

func (nothing) Printf(string, ...any) {}

// why describes how the process ended, with the location and error found in its last output.
func (x *process) why(when string) string {
	text := "it " + x.Exit()
	x.mu.Lock()
	defer x.mu.Unlock()
	if found := cause(x.said, x.plugin.Dir); found != "" {
		return text + when + ": " + found
	}
	return text + when
}

// mostSaid is how many lines of stderr are searched for the cause of an end.
const mostSaid = 40

// stderr takes a line of stderr.
func (x *process) stderr(line string) {
	x.mu.Lock()
	if x.said = append(x.said, line); len(x.said) > mostSaid {
		x.said = x.said[1:]
	}
	x.mu.Unlock()
	x.log(line)
}

var errorLine = lazyregexp.New(`^\s*(?:Uncaught )?(?:\w*(?:Error|Exception)(?: \[\w+\])?:|panic:|fatal error:)`)

// cause returns the first file of the plugin with a line number, and the error, from a program's
// output. If the output contains neither, it returns the last line.
func cause(said []string, dir string) (text string) {
	file := regexp.MustCompile(regexp.QuoteMeta(filepath.ToSlash(dir)) + `/([^\s:()]+:\d+)`)
	var place, wrong string
	for _, line := range said {
		if m := file.FindStringSubmatch(line); m != nil && place == "" {
			place = m[1] + ": "
		}
		if wrong == "" && errorLine.MatchString(line) {
			wrong = line
		}
	}
	if wrong == "" && len(said) > 0 {
		wrong = said[len(said)-1]
	}
	return oneLine(strings.ReplaceAll(place+strings.TrimSpace(wrong), dir+"/", ""), 300)
}

// call sends a request and waits for its result. If ctx ends first, it sends cancel.
func (x *process) call(ctx context.Context, method string, params, result any, c *call) error {
	c.id = jsonrpc2.ID{Num: x.next.Add(1)}
	x.begin(c)
	defer x.end(c)
	waiter, err := x.rpc.DispatchCall(context.WithoutCancel(ctx), method, params, jsonrpc2.PickID(c.id))
	if err == nil {
		if err = waiter.Wait(ctx, result); ctx.Err() != nil {
			_ = x.rpc.Notify(context.WithoutCancel(ctx), "cancel", map[string]any{"id": c.id}) // it may have ended
			return x.Waits(context.Cause(ctx))
		}
	}
	var answered *jsonrpc2.Error
	if err == nil || errors.As(err, &answered) {
		if answered != nil {
			return errors.New(oneLine(answered.Message, longestLog))
		}
		return nil
	}
	if fault := x.Fault(); fault != nil {
		return fmt.Errorf("%w, and it was stopped", fault)
	}
	select { // the connection ends shortly before the process does
	case <-x.Done():
		return errors.New(x.why(" during the call"))
	case <-time.After(grace):
		return fmt.Errorf("its connection failed: %w", err)
	}
}

func (x *process) begin(c *call) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls[c.id], x.last = c, c
}

func (x *process) end(c *call) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.calls, c.id)
	if x.last == c {
		x.last = nil
		for _, other := range x.calls {
			x.last = other
		}
	}
}

// close ends the process: shutdown, then SIGTERM, then SIGKILL.
func (x *process) close() {
	if !x.Ended() {
		_ = x.rpc.Notify(context.Background(), "shutdown", nil) // it is ended in any case
	}
	x.Close()
	x.rpc.Close() // the process has ended
}

// asked is a message from the plugin.
type asked struct {
	Message   string          `json:"message"`
	Text      string          `json:"text"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	// Call is the id of the request during which the plugin asks. If it is 0, the newest request is
	// meant.
	Call uint64 `json:"call"`
}

// Handle handles a message from the plugin.
func (x *process) Handle(_ context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var a asked
	if r.Params != nil && json.Unmarshal(*r.Params, &a) != nil {
		x.refuse(conn, r, jsonrpc2.CodeInvalidParams, "the parameters of "+r.Method+" are not a valid object")
		return
	}
	switch r.Method {
	case "log":
		x.log(oneLine(a.Message, longestLog))
	case "progress":
		if c := x.running(a.Call); c != nil && c.progress != nil {
			c.progress(oneLine(a.Text, 200))
		}
	case "tool":
		c := x.running(a.Call)
		if c == nil || c.tool == nil {
			x.refuse(conn, r, jsonrpc2.CodeInvalidRequest, "a tool can be called only during a tool, hook or command of the plugin")
			return
		}
		select {
		case x.calling <- struct{}{}:
			go x.answer(conn, r, c, a) // ends with the call; it uses the call's ctx
		default:
			x.refuse(conn, r, jsonrpc2.CodeInvalidRequest, fmt.Sprintf("the plugin may call %d tools at the same time", mostCalling))
		}
	default:
		x.refuse(conn, r, jsonrpc2.CodeMethodNotFound, fmt.Sprintf("there is no method %s; there are log, progress and tool", oneLine(r.Method, 60)))
	}
}

func (x *process) answer(conn *jsonrpc2.Conn, r *jsonrpc2.Request, c *call, a asked) {
	defer func() { <-x.calling }()
	result, err := c.tool(c.ctx, a.Name, a.Arguments)
	if err != nil {
		x.refuse(conn, r, jsonrpc2.CodeInvalidRequest, err.Error())
		return
	}
	if !r.Notif {
		_ = conn.Reply(c.ctx, r.ID, result) // it may have ended
	}
}

func (x *process) refuse(conn *jsonrpc2.Conn, r *jsonrpc2.Request, code int64, text string) {
	if r.Notif {
		x.log(text)
		return
	}
	_ = conn.ReplyWithError(context.Background(), r.ID, &jsonrpc2.Error{Code: code, Message: text}) // it may have ended
}

// running returns the call with an id; 0: the newest call. If there is none, it returns nil.
func (x *process) running(id uint64) *call {
	x.mu.Lock()
	defer x.mu.Unlock()
	if id == 0 {
		return x.last
	}
	return x.calls[jsonrpc2.ID{Num: id}]
}

// only returns the id of the only running call.
func (x *process) only() (id jsonrpc2.ID, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id = range x.calls {
		return id, len(x.calls) == 1
	}
	return id, false
}

// stream reads and writes JSON messages, each on a line. Other lines go to the log.
type stream struct {
	in    *bufio.Reader
	other func(line string)
	trace func(line string)                // nil: nothing is traced
	fail  func(error)                      // is called if a message is too long
	only  func() (id jsonrpc2.ID, ok bool) // the only pending call, if any
	out   io.Writer                        // does not wait
}

// WriteObject writes a message.
func (s *stream) WriteObject(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if s.trace != nil {
		s.trace("-> " + string(data))
	}
	_, err = s.out.Write(append(data, '\n'))
	return err
}

// ReadObject reads the next message.
func (s *stream) ReadObject(v any) error {
	for {
		line, err := s.line()
		if err != nil {
			return err
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if text[0] == '{' && json.Unmarshal(s.whole(text), v) == nil {
				if s.trace != nil {
					s.trace("<- " + string(text))
				}
				return nil
			}
			s.other(oneLine(string(text), longestLog))
		}
	}
}

// whole returns a message. A plugin that could not read a request sends a response without an id.
// It gets the id of the only call, so the call does not wait for its limit.
func (s *stream) whole(text []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(text, &m) != nil || len(m.Method) > 0 || len(m.Error) == 0 || len(m.ID) > 0 && string(m.ID) != "null" {
		return text
	}
	id, ok := s.only()
	if !ok {
		return text
	}
	mended, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": m.Error}) // never fails
	return mended
}

// line reads a line. If it is too long, the connection ends.
func (s *stream) line() (line []byte, err error) {
	for {
		part, err := s.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > largestLine:
			err = fmt.Errorf("it sent a message of more than %d MB", largestLine>>20)
			s.fail(err)
			return nil, err
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// Close does nothing: the process owns the pipes.
func (*stream) Close() error { return nil }

// lines passes each line of an output on. Of a long line, it passes the beginning.
type lines struct {
	write func(line string)
	line  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		piece, rest, whole := bytes.Cut(p, []byte{'\n'})
		if room := longestLog - len(l.line); room > 0 {
			l.line = append(l.line, piece[:min(len(piece), room)]...)
		}
		if whole {
			l.write(strings.TrimRight(plain(string(l.line), longestLog), " \t"))
			l.line = l.line[:0]
		}
		p = rest
	}
	return n, nil
}

// commandOf returns the program of a plugin and its arguments. Find finds a program on PATH.
func commandOf(p Plugin, find func(name string) (string, error)) (args []string, err error) {
	if p.Kind == Command {
		args = append(args, p.command...)
		if strings.ContainsRune(args[0], '/') && !filepath.IsAbs(args[0]) {
			args[0] = filepath.Join(p.Dir, args[0])
			return args, nil
		}
		if !filepath.IsAbs(args[0]) {
			args[0], err = find(args[0])
		}
		return args, err
	}
	for _, name := range []string{"python3", "python"} {
		var path string
		if path, err = find(name); err == nil {
			// -B writes no compiled files into the plugin's directory, which would change it.
			return []string{path, "-B", "-u", "-c", helper, p.Dir, p.entry, string(p.Kind)}, nil
		}
	}
	return nil, fmt.Errorf("it needs Python 3.8 or later: %w", err)
}
