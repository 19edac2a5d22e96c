//go:build unix

package codeexec

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/proctest"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Scripts that search for the stand-in's secrets and print them.
var thieves = map[string]string{
	"its environment": `
import os, subprocess
print(dict(os.environ)); print(subprocess.run(["env"], capture_output=True, text=True).stdout)
print(open("/proc/self/environ").read() if os.path.exists("/proc/self") else "")`,
	// It tries for a while: the server of another test protects itself only after its start.
	"every process's environment": `
import os, time
def readable(p):
    try: return CANARY in open("/proc/%s/environ" % p, "rb").read()
    except OSError: return False
found = [p for p in os.listdir("/proc") if p.isdigit() and readable(p)]
until = time.time() + 20
for p in found:
    while readable(p) and time.time() < until: time.sleep(0.1)
    if readable(p): print(p, CANARY)`,
	"its ancestors' memory": `
import os, re
pid = os.getpid()
while pid > 1:
    try:
        pid = int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1])
        if pid == TEST: break # the test itself, which knows the canary, is no server
        for line in open("/proc/%d/maps" % pid):
            lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
            if "r" not in line.split()[1] or hi - lo > 1 << 26: continue
            with open("/proc/%d/mem" % pid, "rb") as m:
                m.seek(lo)
                if CANARY in m.read(hi - lo): print("memory of", pid, CANARY); break
    except (OSError, OverflowError): pass
    except ValueError: break`,
	"inherited descriptors": `
import os
found = [fd for fd in range(3, 256) if os.path.exists("/proc/self/fd/%d" % fd)]
names = [os.readlink("/proc/self/fd/%d" % fd) for fd in found if os.path.exists("/proc/self/fd/%d" % fd)]
print("descriptors", names, CANARY if names else "")`,
	"tracing": `
import ctypes, os
libc = ctypes.CDLL(None)
for pid in (os.getppid(), 1):
    if pid > 0 and libc.ptrace(16, pid, 0, 0) == 0: print("traced", pid, CANARY)`,
	"the command's view": `
from hermes_tools import terminal
for line in terminal("env; cat /proc/$PPID/environ | tr '\\0' '\\n'; cat /proc/1/environ")["output"].splitlines():
    if line.split("=")[0] not in ("HARMLESS", "DATABASE_URL", "SLACK_WEBHOOK"): print(line)`,
}

// users returns the users that run hostile scripts: the user of the tests (0) and, if it is root,
// an ordinary user.
func users(t *testing.T) []int {
	t.Helper()
	if os.Getuid() == 0 && isFile("/usr/bin/python3") {
		return []int{0, 65534}
	}
	return []int{0}
}

func TestNoSecretReachesAScript(t *testing.T) {
	testneed.Long(t)
	if runtime.GOOS != "linux" {
		t.Skip("there is /proc on Linux alone")
	}
	t.Parallel()
	for _, uid := range users(t) {
		for name, code := range thieves {
			for _, box := range []string{"", sandboxWord + "=on"} {
				t.Run(fmt.Sprintf("%d/%s/%s", uid, name, box), func(t *testing.T) {
					t.Parallel()
					code := fmt.Sprintf("TEST = %d\nCANARY = bytes([88, 89, 90, 90, 89]) + b'-CAN' + b'ARY'\n", os.Getpid()) + strings.TrimLeft(code, "\n") + "\nprint('looked')\n"
					a := runStandIn(t, uid, code, strings.Fields(box)...)
					if a.Status != "success" || !strings.HasSuffix(a.Output, "looked\n") {
						t.Fatalf("%+v", a)
					}
					if strings.Contains(a.Output, canary) {
						t.Errorf("it found %s", a.Output)
					}
				})
			}
		}
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	all := []string{
		"PATH=/bin", "HOME=/h", "LANG=C", "LC_ALL=C", "TZ=UTC", "CONDA_PREFIX=/c",
		"OPENAI_API_KEY=s", "DATABASE_URL=s", "SENTRY_DSN=s", "SLACK_WEBHOOK=s", "CONDA_TOKEN=s", "AWS_PROFILE=s",
		"LD_PRELOAD=s", "BASH_ENV=s", "PYTHONSTARTUP=s", "PYTHONHOME=s", "SSH_AUTH_SOCK=s", "XDG_RUNTIME_DIR=s", "HERMES_HOME=s",
		"MY_KEY=wanted", "NODE_ENV=x",
	}
	got := strings.Join(environ(all, []string{"MY_KEY"}), " ")
	if want := "PATH=/bin HOME=/h LANG=C LC_ALL=C TZ=UTC CONDA_PREFIX=/c MY_KEY=wanted"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// After abuse of the socket, this script and the next can still make calls.
func TestSocketAbuse(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	head := `
import socket, struct, os, time
from hermes_tools import read_file
def connect(hello=None):
    s = socket.socket(socket.AF_UNIX); s.settimeout(100); s.connect(os.environ["HERMES_RPC_SOCKET"])
    s.sendall(frame(os.environ["HERMES_RPC_TOKEN"].encode()) if hello is None else hello)
    return s
def frame(body, size=None):
    return struct.pack("!I", len(body) if size is None else size) + body
def call(tool, args=b"{}"):
    return frame(b'{"tool":"' + tool + b'","args":' + args + b'}')
def read(s):
    data = b""
    try:
        while True:
            more = s.recv(65536)
            if not more: return data + b"<closed>"
            data += more
            if len(data) > 4 and len(data) >= 4 + struct.unpack("!I", data[:4])[0]: return data[4:].decode(errors="replace")
    except ConnectionError: return data + b"<closed>"
    except socket.timeout: return data + b"<nothing>"
`
	tests := []struct{ name, code, want string }{
		{"a wrong token", `print(read(connect(frame(b"A" * 26))))`, "does not know the token"},
		{"no token", `s = connect(b""); s.shutdown(1); print(read(s))`, "it sent no token"},
		{"something else", `print(read(connect(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")))`, "does not know the token"},
		{"a forged name", `s = connect(); s.sendall(call(b"execute_code")); print(read(s))`, "Tool 'execute_code' is not available"},
		{"a name of bytes", `s = connect(); s.sendall(call(b"\xff\xfe" * 80)); print(read(s))`, "is not available"},
		{"a name with an escape", `s = connect(); s.sendall(call(b"\\u0000\\u001b[31m\\ud800")); print(read(s))`, "is not available"},
		{"an empty frame", `s = connect(); s.sendall(frame(b"")); print(read(s))`, "not valid"},
		{"a list", `s = connect(); s.sendall(frame(b"[]")); print(read(s))`, "not valid"},
		{"no name", `s = connect(); s.sendall(frame(b"{}")); print(read(s))`, "is not available"},
		{"two names", `s = connect(); s.sendall(frame(b'{"tool":"read_file","tool":"todo","args":{}}')); print(read(s))`, "Tool 'todo' is not available"},
		{"arguments that are no object", `s = connect(); s.sendall(call(b"read_file", b"[1]")); print(read(s))`, "error"},
		{"no arguments", `s = connect(); s.sendall(frame(b'{"tool":"read_file"}')); print(read(s))`, "error"},
		{"no JSON", `s = connect(); s.sendall(call(b"read_file", b"\x00\xff{{{")); print(read(s))`, "not valid"},
		{"nested too deep", `s = connect(); s.sendall(call(b"read_file", b"[" * 100000 + b"]" * 100000)); print(read(s))`, "not valid"},
		{"a length that is too short", `s = connect(); s.sendall(frame(call(b"read_file")[4:], size=3)); print(read(s), read(s))`, "<closed>"},
		{"a giant frame that is announced", `s = connect(); s.sendall(frame(b"{}", size=0xFFFFFFF0)); print(read(s))`, "<closed>"},
		{"a giant frame that comes", `s = connect(); s.sendall(frame(b"x" * (20 << 20))); print(read(s))`, "too long"},
		{"half a frame", `s = connect(); s.sendall(call(b"read_file")[:6]); s.close(); print("closed")`, "closed"},
		{"a reader that stops", `
s = connect()
s.setblocking(False)
try:
    while True: s.sendall(call(b"read_file", b'{"path":"big.txt"}'))
except BlockingIOError: print("sent")`, "sent"},
		{"a thousand connections", `
import resource
held = []
for i in range(1000):
    try: held.append(connect())
    except OSError: pass
print(len(held) > 100)`, "True"},
		{"a thousand half requests", `
held = []
for i in range(250):
    try:
        s = connect(); s.sendall(frame(b"", size=16 << 20)); held.append(s)
    except OSError: pass
print(len(held) > 100, read_file('a.txt')['total_lines'])`, "True 1"},
		{"large requests that do not end", `
held = [connect() for i in range(4)]
for s in held: s.sendall(frame(b"x" * ((16 << 20) - 1), size=16 << 20))
for i in range(90):
    text = read_file('a.txt').get('error', '')
    if text: break
    time.sleep(0.05)
print(text)`, "have more than 64 MB of arguments"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{MaxCalls: 100}, map[string]string{"a.txt": "one\n", "big.txt": strings.Repeat("x\n", 50000)})
			code := head + strings.TrimLeft(tc.code, "\n") + "\nheld = s = None\ntime.sleep(0.05)\nprint(read_file('a.txt')['total_lines'])\n"
			a := b.run(code)
			if !strings.Contains(a.Output, tc.want) || !strings.HasSuffix(a.Output, "\n1\n") {
				t.Errorf("%.500s\n%.500s", a.Output, a.Errors)
			}
			if a := b.run("from hermes_tools import read_file\nprint(read_file('a.txt')['total_lines'])"); a.Output != "1\n" {
				t.Errorf("afterwards: %+v", a)
			}
		})
	}
}

// A process of another user is rejected, even with the token.
func TestOtherUserIsRefused(t *testing.T) {
	if proctest.Again() {
		t.Skip("only root can be two users: root runs this test, too")
	}
	testneed.Root(t)
	t.Parallel()
	b := newBed(t, Config{}, nil)
	a := b.run(`
import os, socket
where = os.environ["HERMES_RPC_SOCKET"]
os.chmod(where, 0o777); os.chmod(os.path.dirname(where), 0o777)
pid = os.fork()
if pid == 0:
    os.setuid(65534)
    s = socket.socket(socket.AF_UNIX); s.connect(where)
    token = os.environ["HERMES_RPC_TOKEN"].encode()
    try: s.sendall(len(token).to_bytes(4, "big") + token)
    except OSError: pass
    print(s.recv(1000).decode(errors="replace"), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
`)
	if !strings.Contains(a.Output, "the caller is user 65534") {
		t.Errorf("%+v", a)
	}
}

// Saved outputs and transcripts contain none of the server's known secrets.
func TestKeptOutputHasNoSecret(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, map[string]string{"key.txt": "the key is s3cret-value\n"})
	b.bound(func(bounds *tools.Bounds) {
		bounds.Secrets = tools.NewSecrets(map[string]string{"THE_KEY": "s3cret-value"})
	})
	a, result := b.call(t.Context(), map[string]any{"code": `
import sys
key = "s3cret-" + "value"
for i in range(20000): sys.stdout.write(key + "; ")
for i in range(2000): print(key, file=sys.stderr)
from hermes_tools import read_file, terminal
got = read_file("key.txt")["content"] + terminal("cat key.txt #" + key)["output"]
print("\n", got, key in got)
`})
	if a.FullOutput == "" || a.FullErrors == "" || !strings.HasSuffix(a.Output, "False\n") {
		t.Fatalf("%+v", a)
	}
	shown, err := json.Marshal(result.Shown)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"the result": string(result.JSON), "what is shown": string(shown)}
	for _, path := range []string{a.FullOutput, a.FullErrors} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(text)
	}
	for where, text := range all {
		if strings.Contains(text, "s3cret-value") || !strings.Contains(text, "[secret THE_KEY withheld]") {
			t.Errorf("%s: %.300s", where, text)
		}
	}
}

func TestOutputLimits(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, nil)
	a := b.run("for i in range(20000): print('%08d' % i)\nimport sys\nfor i in range(5000): print('e%07d' % i, file=sys.stderr)\n")
	if !strings.HasPrefix(a.Output, "00000000\n00000001\n") || !strings.HasSuffix(a.Output, "00019999\n") ||
		!strings.Contains(a.Output, "\n[output truncated at 50KB]\n") || len(a.Output) < 49_000 || len(a.Output) > 50_100 {
		t.Errorf("%d bytes: %.100s", len(a.Output), a.Output)
	}
	if !strings.HasPrefix(a.Errors, "e0000000\n") || !strings.HasSuffix(a.Errors, "e0004999\n") ||
		!strings.Contains(a.Errors, "\n[output truncated at 10KB]\n") || len(a.Errors) > 10_100 {
		t.Errorf("%d bytes: %.100s", len(a.Errors), a.Errors)
	}
	for file, size := range map[string]int{a.FullOutput: 20000 * 9, a.FullErrors: 5000 * 9} {
		if text, err := os.ReadFile(file); err != nil || len(text) != size {
			t.Errorf("%s has %d bytes, want %d: %v", file, len(text), size, err)
		}
	}
	exact := b.run("print('x' * 49999)")
	if len(exact.Output) != 50_000 || exact.FullOutput != "" {
		t.Errorf("%d bytes, %s", len(exact.Output), exact.FullOutput)
	}
}

// The server's memory does not grow with the output.
func TestFlood(t *testing.T) {
	testneed.Extra(t)
	if testing.Short() {
		t.Skip("prints 600 MB")
	}
	b := newBed(t, Config{}, nil)
	b.env.Progress = nil
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a := b.run(`
import os
block = ("x" * 99 + "\n") * 10000
for _ in range(300): os.write(1, block.encode())
block = "y" * 1000000
for _ in range(300): os.write(1, block.encode())
`)
	runtime.ReadMemStats(&after)
	if grown := (int64(after.Sys) - int64(before.Sys)) >> 20; grown > 20 {
		t.Errorf("the server grew by %d MB", grown)
	}
	if info, err := os.Stat(a.FullOutput); err != nil || info.Size() != wholeLimit {
		t.Errorf("the whole output: %v, %v", info, err)
	}
	if len(a.Output) > 50_100 {
		t.Errorf("%d bytes reach the model", len(a.Output))
	}
}

func TestMemoryAndProcessLimits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system has no such limits")
	}
	t.Parallel()
	tests := []struct{ name, code, want string }{
		{"memory", "x = bytearray(3 << 30)\nprint('all there')", "memory"},
		{"memory in small pieces", "x = []\nwhile True: x.append(bytearray(1 << 20))", "memory"},
		{"processes", `
import subprocess, sys, time
n = 0
try:
    for i in range(400):
        subprocess.Popen(["sleep", "60"]); n += 1
except OSError as e:
    print(n < 300); raise
time.sleep(2)
print("all", n)`, "processes"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{MaxMemoryMB: 512, MaxProcs: 64}, nil)
			a := b.fail(tc.code) // an error, and no timeout
			if a.Status != "error" || !strings.Contains(a.Note, tc.want) || strings.Contains(a.Output, "all") {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestOpenFilesLimit(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, nil)
	a := b.run("held = []\ntry:\n    while True: held.append(open('/dev/null'))\nexcept OSError:\n    print(len(held))\n")
	if n, err := strconv.Atoi(strings.TrimSpace(a.Output)); err != nil || n < 500 || n > openFiles {
		t.Errorf("it opened %s files", a.Output)
	}
}

// FuzzSocket sends bytes after the right token. The server still answers other connections.
func FuzzSocket(f *testing.F) {
	for _, frame := range []string{`{"tool":"read_file","args":{}}`, `{"tool":"x\u0000","args":[]}`, `{}`, ``, `[[`} {
		f.Add([]byte(framed(frame)))
	}
	f.Add([]byte("\xff\xff\xff\xff{}"))
	f.Add([]byte("\x00\x00"))
	s := testSocket(f)
	f.Fuzz(func(t *testing.T, sent []byte) {
		s.open(t.Context(), &callQueue{functions: named("read_file"), limit: 1 << 30, run: echoArguments})
		defer s.shut()
		bad := dial(t, s)
		go bad.Write(sent)
		good := dial(t, s)
		if got := exchange(t, good, request{"read_file", []byte(`{"a":1}`)}); got != `{"a":1}` {
			t.Fatalf("response %q", got)
		}
	})
}
