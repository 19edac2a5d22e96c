package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/codeexec"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// scripts measures execute_code from within a script: its calls against a plain echo between
// the same two programs, its start, and its output.
func scripts(part func(*scriptLab) ([]row, error)) func(*lab) ([]row, error) {
	return func(l *lab) ([]row, error) {
		s, err := newScriptLab(l)
		if err != nil {
			return nil, err
		}
		defer s.close()
		return part(s)
	}
}

// scriptLab runs scripts in this process, with the session's dispatch and a read_file whose
// answers are ready. So it measures only the transport.
type scriptLab struct {
	runner *codeexec.Runner
	set    *tools.Set
	env    *tools.Env
	files  *workspace.Workspace
	python string
	echo   net.Listener
	path   string // of the echo's socket
}

func newScriptLab(l *lab) (*scriptLab, error) {
	ws, err := workspace.Open([]string{l.cwd}, nil)
	if err != nil {
		return nil, err
	}
	s := &scriptLab{files: ws, path: filepath.Join(l.dir, "echo.socket")}
	pythons := codeexec.NewPythons()
	found, err := pythons.Find(context.Background(), codeexec.Search{Environ: os.Environ()})
	if err != nil {
		return nil, err
	}
	s.python = found.Path
	s.runner = codeexec.New(codeexec.Config{Bounds: tools.Bounds{Files: ws}, MaxCalls: 1 << 20, Python: found.Path, Pythons: pythons})
	if s.set, err = tools.NewSet(readyTool(), s.runner.Tool()); err != nil {
		return nil, err
	}
	s.env = &tools.Env{
		OutputDir: filepath.Join(l.dir, "outputs"), Dispatch: tools.Dispatch{Set: s.set},
		Gate: gate.New(gate.Config{Mode: "off"}),
	}
	if s.echo, err = net.Listen("unix", s.path); err != nil {
		return nil, err
	}
	go s.serveEcho()
	return s, nil
}

func (s *scriptLab) close() {
	s.echo.Close() // it ends its goroutine
	s.runner.Close()
	s.files.Close() // only read
}

// readyTool answers with a text of limit bytes: a single line, many lines, or, for the path slow,
// after a while.
func readyTool() tools.Tool {
	type in struct {
		Path   string `json:"path"`
		Offset int    `json:"offset,omitempty"`
		Limit  int    `json:"limit,omitempty"`
	}
	type out struct {
		Content string `json:"content"`
	}
	ready := map[in]tools.Result{}
	for _, size := range []int{20, 100_000} {
		ready[in{"a", 0, size}] = tools.OK(out{strings.Repeat("x", size)})
		ready[in{"lines", 0, size}] = tools.OK(out{strings.Repeat("\tcall(x, \"some text\")\n", size/22+1)[:size]})
	}
	return tools.New(tools.Tool{Name: "read_file", Toolset: "file", Kind: tools.KindRead, ReadOnly: true, ResultCap: 1 << 20, Script: "(path, offset, limit) → content"},
		func(_ context.Context, _ *tools.Env, _ tools.Call, in in) (tools.Result, error) {
			if in.Path == "slow" {
				time.Sleep(5 * time.Millisecond)
				in.Path = "a"
			}
			return ready[in], nil
		})
}

// serveEcho returns each frame, with its length in front.
func (s *scriptLab) serveEcho() {
	for {
		conn, err := s.echo.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			buf := make([]byte, 128<<10)
			for {
				if _, err := io.ReadFull(conn, buf[:4]); err != nil {
					return
				}
				n := 4 + int(binary.BigEndian.Uint32(buf))
				if _, err := io.ReadFull(conn, buf[4:n]); err != nil {
					return
				}
				if _, err := conn.Write(buf[:n]); err != nil {
					return
				}
			}
		}()
	}
}

// run runs a script that prints a JSON value, and decodes it into v.
func (s *scriptLab) run(code string, v any) error {
	args, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		return err
	}
	result, err := s.set.Call(context.Background(), s.env, tools.Call{ID: "b", Name: "execute_code", Args: args})
	if err != nil {
		return err
	}
	var out struct{ Status, Output, Errors, Error string }
	if err := json.Unmarshal(result.JSON, &out); err != nil {
		return err
	}
	if out.Status != "success" {
		return fmt.Errorf("the script failed: %s%s", out.Errors, out.Error)
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal([]byte(out.Output), v)
}

// Rounds of all ways are short and alternate, so that other work of the machine affects
// each; the best round counts, because other work only adds time.
//
// There are two floors. The first is a usual echo for the same job: a text goes out, and a text of
// unknown length comes back. The second, bare, knows the number of bytes in advance, and returns
// bytes.
const callScript = `
import json, socket, struct, threading, time
from hermes_tools import read_file
def connected():
    s = socket.socket(socket.AF_UNIX)
    s.connect(%q)
    return s
s = connected()
def exactly(s, n):
    data = s.recv(n)
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data
def echo(s, text):
    data = text.encode()
    s.sendall(struct.pack("!I", len(data)) + data)
    size, = struct.unpack("!I", exactly(s, 4))
    return exactly(s, size).decode()
def bare(s, data):
    s.sendall(struct.pack("!I", len(data)) + data)
    exactly(s, 4 + len(data))
def per_call(f, n):
    began = time.perf_counter()
    for _ in range(n):
        f()
    return (time.perf_counter() - began) / n * 1e6
out = {}
for size, n in ((20, 100), (100000, 10)):
    text = "x" * size
    data = text.encode()
    ways = (lambda: echo(s, text), lambda: bare(s, data), lambda: read_file("a", limit=size), lambda: read_file("lines", limit=size))
    rounds = [[per_call(f, n) for f in ways] for _ in range(200)]
    out[str(size)] = [min(r[i] for r in rounds) for i in range(len(ways))]
def rate(threads, calls, prepared):
    each = calls // threads
    def loop():
        f = prepared()
        for _ in range(each):
            f()
    all = [threading.Thread(target=loop) for _ in range(threads)]
    began = time.perf_counter()
    [t.start() for t in all]; [t.join() for t in all]
    return calls / (time.perf_counter() - began)
def echoing():
    own = connected()
    return lambda: echo(own, "x" * 20)
rounds = [[rate(8, 4000, echoing), rate(8, 4000, lambda: lambda: read_file("a", limit=20))] for _ in range(8)]
out["threads"] = [max(r[i] for r in rounds) for i in range(2)]
rounds = [[rate(n, 80, lambda: lambda: read_file("slow", limit=20)) for n in (1, 8)] for _ in range(5)]
out["slow"] = [max(r[i] for r in rounds) for i in range(2)]
print(json.dumps(out))
`

func (s *scriptLab) calls() ([]row, error) {
	var got map[string][]float64
	if err := s.run(fmt.Sprintf(callScript, s.path), &got); err != nil {
		return nil, err
	}
	small, large, threads, slow := got["20"], got["100000"], got["threads"], got["slow"]
	const echo, bare = "echo of a str between the same two", "echo of bytes, size known"
	return []row{
		{what: "script call, 20 B result", value: small[2], unit: "µs", floor: small[0], floorName: echo, goal: "≤ 4×"},
		{what: "the same", value: small[2], unit: "µs", floor: small[1], floorName: bare},
		{what: "script call, 100 KB result", value: large[2], unit: "µs", floor: large[0], floorName: echo, goal: "≤ 4×"},
		{what: "the same", value: large[2], unit: "µs", floor: large[1], floorName: bare},
		{what: "script call, 100 KB in lines", value: large[3], unit: "µs", floor: large[0], floorName: echo},
		{what: "script calls a second, 8 threads", value: threads[1], unit: "/s", floor: threads[0], floorName: "8 threads with an echo each"},
		{what: "script calls of 5 ms, 8 threads", value: slow[1], unit: "/s", floor: slow[0], floorName: "1 thread", goal: "≥ 7×"},
	}, nil
}

// start measures an empty script, and a script with only the import of hermes_tools.
func (s *scriptLab) start() ([]row, error) {
	environ := append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var floors, plain, withTools []time.Duration
	timed := func(list *[]time.Duration, f func() error) error {
		began := time.Now()
		err := f()
		*list = append(*list, time.Since(began))
		return err
	}
	for range 25 { // the best counts: other work only ever adds
		err := timed(&floors, func() error {
			cmd := exec.Command(s.python, "-c", "pass")
			cmd.Env = environ
			return cmd.Run()
		})
		if err == nil {
			err = timed(&plain, func() error { return s.run("pass", nil) })
		}
		if err == nil {
			err = timed(&withTools, func() error { return s.run("import hermes_tools", nil) })
		}
		if err != nil {
			return nil, err
		}
	}
	floor := ms(slices.Min(floors))
	return []row{
		{what: "script start, over python3 -c pass", value: ms(slices.Min(plain)) - floor, unit: "ms", goal: "≤ 10 ms"},
		{what: "the same, importing hermes_tools", value: ms(slices.Min(withTools)) - floor, unit: "ms", goal: "≤ 10 ms"},
	}, nil
}

// memoryDuringOutput measures the server's memory during 5 GB of output.
func (s *scriptLab) memoryDuringOutput() ([]row, error) {
	runtime.GC()
	before, err := pss(os.Getpid())
	if err != nil {
		return nil, err
	}
	var most float64
	watching, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-watching:
				return
			case <-time.After(100 * time.Millisecond):
				if now, err := pss(os.Getpid()); err == nil {
					most = max(most, now)
				}
			}
		}
	}()
	began := time.Now()
	err = s.run("import os\nblock = ((\"x\" * 99 + \"\\n\") * 10000).encode()\nfor _ in range(5000):\n    os.write(1, block)\n", nil)
	took := time.Since(began)
	close(watching)
	<-stopped
	return []row{
		{what: "server's memory by 5 GB printed", value: max(most-before, 0), unit: "MB", goal: "≤ 20 MB"},
		{what: "output read", value: 5000 / took.Seconds(), unit: "MB/s"},
	}, err
}
