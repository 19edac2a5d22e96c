package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/internal/modes"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// TestMain runs the program instead of the tests if a test has started it as the program.
func TestMain(m *testing.M) {
	modes.Enter()
	if os.Getenv("HERMES_LS_TEST_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

const testKey = "sk-test-0123456789abcdef0123"

// program starts the program with a separate home directory and the embedded model.
type program struct {
	t       *testing.T
	home    string
	cwd     string
	environ []string
}

func newProgram(t *testing.T) program {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := program{t, filepath.Join(dir, "home"), filepath.Join(dir, "ws"), nil}
	p.write("home/config.yaml", "model: {provider: embedded}\n")
	p.write("home/.env", "OPENAI_API_KEY="+testKey+"\n")
	p.write("ws/main.py", "print('hello')\n")
	return p
}

func (p program) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(filepath.Dir(p.home), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p program) command(args ...string) *exec.Cmd {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = p.cwd
	cmd.Env = append([]string{"HERMES_LS_TEST_PROGRAM=1", "HERMES_HOME=" + p.home, "HOME=" + filepath.Dir(p.home), "PATH=" + os.Getenv("PATH")}, p.environ...)
	return cmd
}

// run runs the program and returns its output and its exit code.
func (p program) run(args ...string) (out, errOut string, code int) {
	p.t.Helper()
	cmd := p.command(args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// agentClient is a client of `hermes-ls acp`.
type agentClient struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	errOut *lockedBuffer
	next   int
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (p program) acp(args ...string) *agentClient {
	p.t.Helper()
	c := &agentClient{t: p.t, cmd: p.command(append([]string{"acp"}, args...)...), errOut: &lockedBuffer{}}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	c.cmd.Stderr = c.errOut
	c.in, c.out = in, bufio.NewScanner(out)
	c.out.Buffer(nil, 10<<20)
	if err := c.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// call sends a request and returns the result.
func (c *agentClient) call(method string, params any) json.RawMessage {
	c.t.Helper()
	result, failure := c.ask(method, params)
	if failure != nil {
		c.t.Fatalf("%s: %s", method, failure)
	}
	return result
}

// ask sends a request and reads messages up to its response.
func (c *agentClient) ask(method string, params any) (result, failure json.RawMessage) {
	c.t.Helper()
	c.next++
	c.send(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	for c.out.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(c.out.Bytes(), &m); err != nil {
			c.t.Fatal(err)
		}
		if m.Method == "" && string(m.ID) == fmt.Sprint(c.next) {
			return m.Result, m.Error
		}
	}
	c.t.Fatalf("%s: the program has ended: %s", method, c.errOut)
	return nil, nil
}

func (c *agentClient) send(m any) {
	c.t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(body, '\n')); err != nil {
		c.t.Fatal(err)
	}
}

// begin opens a session and returns its id.
func (c *agentClient) begin(cwd string) string {
	c.t.Helper()
	c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	return c.open(cwd)
}

// open opens a further session and returns its id.
func (c *agentClient) open(cwd string) string {
	c.t.Helper()
	var s struct{ SessionID string }
	if err := json.Unmarshal(c.call("session/new", map[string]any{"cwd": cwd, "mcpServers": []any{}}), &s); err != nil {
		c.t.Fatal(err)
	}
	return s.SessionID
}

func (c *agentClient) prompt(session, text string) {
	c.t.Helper()
	c.call("session/prompt", promptOf(session, text))
}

func promptOf(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// end closes the input and waits for the end of the program.
func (c *agentClient) end() {
	c.t.Helper()
	_ = c.in.Close()
	for c.out.Scan() {
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the program ended with %v: %s", err, c.errOut)
	}
}

// TestTraceOfProgram records a session of the built program and plays the recording.
func TestTraceOfProgram(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	file := filepath.Join(t.TempDir(), "trace.txtar")
	c := p.acp("--trace", file)
	session := c.begin(p.cwd)
	c.prompt(session, "What is in main.py?\n\nA key: "+testKey)
	c.end()

	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(txtar.Format(archive))
	if strings.Contains(text, testKey) || !strings.Contains(text, "[secret OPENAI_API_KEY withheld]") {
		t.Errorf("the key is not redacted:\n%s", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	archive.Files = append(archive.Files,
		txtar.File{Name: "files/main.py", Data: []byte("print('hello')\n")},
		txtar.File{Name: "home/config.yaml", Data: []byte("model: {provider: embedded}\n")})
	t.Run("played", func(t *testing.T) { servertest.PlayTrace(t, archive, nil) })
	if t.Failed() {
		t.Logf("%.20000s", text)
	}
}

// TestTraceOfFailure plays the recordings of failing prompts: no key is configured, and the
// endpoint refuses the key.
func TestTraceOfFailure(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"This key is not known"}}`, http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	for name, conf := range map[string]string{
		"no key":      "model: {provider: openai}\n",
		"key refused": fmt.Sprintf("model: {provider: custom, default: m, base_url: %q, api_key: %s}\n", refusing.URL, testKey),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.write("home/config.yaml", conf)
			p.write("home/.env", "")
			file := filepath.Join(t.TempDir(), "trace.txtar")
			c := p.acp("--trace", file)
			_, failure := c.ask("session/prompt", promptOf(c.begin(p.cwd), "Hello"))
			if !strings.Contains(string(failure), fmt.Sprintf(`"kind":%q`, name)) {
				t.Errorf("the prompt failed with %s", failure)
			}
			c.end()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive.Files = append(archive.Files,
				txtar.File{Name: "files/main.py", Data: []byte("print('hello')\n")},
				txtar.File{Name: "home/config.yaml", Data: []byte(conf)})
			servertest.PlayTrace(t, archive, nil)
		})
	}
}

// TestTraceFails checks that a failing trace is logged once, and the session continues.
func TestTraceFails(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for _, file := range []string{filepath.Join(p.cwd, "main.py"), "/dev/full"} {
		c := p.acp("--trace", file)
		c.prompt(c.begin(p.cwd), "Hello")
		c.end()
		if n := strings.Count(c.errOut.String(), "trace"); n == 0 || strings.Count(c.errOut.String(), "level=WARN") != 1 {
			t.Errorf("%s: logged %s", file, c.errOut)
		}
	}
	if data, err := os.ReadFile(filepath.Join(p.cwd, "main.py")); err != nil || string(data) != "print('hello')\n" {
		t.Errorf("the file reads %q, %v", data, err)
	}
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for _, args := range [][]string{{"serve", "--log-level", "loud"}, {"acp", "--log-level", ""}, {"run", "--log-level", "x", "hello"}} {
		if _, errOut, code := p.run(args...); code != cli.WrongUse || !strings.Contains(errOut, "use debug|info|warn|error") {
			t.Errorf("%v: exit %d, %s", args, code, errOut)
		}
	}
	for level, want := range map[string]bool{"debug": true, "error": false} {
		c := p.acp("--log-level", level, "--trace", p.cwd) // a directory, which is logged as a warning
		c.begin(p.cwd)
		c.ask("session/prompt", promptOf("none", "Hello"))
		c.end()
		for _, line := range []string{"level=WARN", "method=session/new", `method=session/prompt took=`, "no such session"} {
			if got := strings.Contains(c.errOut.String(), line); got != want {
				t.Errorf("at %s it logged %s, and %q: %v", level, c.errOut, line, got)
			}
		}
	}
}

// page returns a page of the debug socket.
func page(t *testing.T, socket, path string) string {
	t.Helper()
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) },
	}}
	resp, err := client.Get("http://hermes" + path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s: %s", path, resp.Status, data)
	}
	return string(data)
}

func TestDebugSocket(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	dir, err := os.MkdirTemp("", "dbg") // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	c := p.acp("--debug", socket)
	session := c.begin(p.cwd)
	c.prompt(session, "A marked prompt: periwinkle "+testKey)
	if info, err := os.Lstat(socket); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	all := ""
	for path, want := range map[string]string{
		"/": "/sessions", "/sessions": session, "/queues": "wait to be written", "/calls": "No call is open",
		"/goroutines": "goroutine profile", "/counters": "from the client: session/prompt", "/debug/pprof/": "curl",
		"/debug/pprof/heap?debug=1": "heap profile", "/debug/pprof/goroutine?debug=2": "goroutine ", "/debug/pprof/profile?seconds=0.1": "",
		"/debug/pprof/trace?seconds=0.1": "",
	} {
		text := page(t, socket, path)
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, text)
		}
		all += text
	}
	for _, secret := range []string{"periwinkle", testKey} {
		if strings.Contains(all, secret) {
			t.Errorf("a page shows %q", secret)
		}
	}
	// Another server does not replace the socket of a running server.
	if _, errOut, code := p.run("acp", "--debug", socket); code != cli.WrongUse || !strings.Contains(errOut, "another server uses") {
		t.Errorf("a second server: exit %d, %s", code, errOut)
	}
	c.end()
	if _, err := os.Lstat(socket); err == nil {
		t.Error("the socket is still there after the end")
	}

	// A killed server leaves its socket. The next server replaces it.
	killed := p.acp("--debug", socket)
	killed.begin(p.cwd)
	_ = killed.cmd.Process.Signal(syscall.SIGKILL)
	_ = killed.cmd.Wait()
	if _, err := os.Lstat(socket); err != nil {
		t.Errorf("the socket is not there after a kill: %v", err)
	}
	next := p.acp("--debug", socket)
	next.begin(p.cwd)
	page(t, socket, "/sessions")
	next.end()
}

// TestDefaultMux checks that the imported profiler is not served on the default mux.
func TestDefaultMux(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/debug/pprof/", "/debug/vars", "/debug/requests"} {
		r, err := http.NewRequest(http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, pattern := http.DefaultServeMux.Handler(r); pattern != "" {
			t.Errorf("the default mux serves %s", pattern)
		}
	}
}
