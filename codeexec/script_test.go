//go:build unix

package codeexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/internal/websearch"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/web"
)

// interpreters returns the usable interpreters of this machine: one per version, plus the default.
func interpreters(t *testing.T) []string {
	t.Helper()
	found, _ := filepath.Glob(os.Getenv("HOME") + "/.pyenv/versions/3.*/bin/python3")
	more, _ := filepath.Glob("../.cache/hosts/python-3.*/usr/bin/python3.*") // of e2e/setup/hosts.sh
	for _, path := range more {
		if path, err := filepath.Abs(path); err == nil {
			found = append(found, path)
		}
	}
	for minor := oldestMinor; minor < 20; minor++ {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			if path := filepath.Join(dir, fmt.Sprintf("python3.%d", minor)); isFile(path) && !isShim(path) {
				found = append(found, path)
			}
		}
	}
	pythons := NewPythons()
	minors := map[int]string{}
	for _, path := range found {
		got, err := pythons.Find(t.Context(), Search{Configured: path, Environ: plainEnviron()})
		var minor int
		if _, scanErr := fmt.Sscanf(got.Version, "3.%d.", &minor); err == nil && scanErr == nil && got.Path == path {
			minors[minor] = path
		}
	}
	usual, err := pythons.Find(t.Context(), Search{Environ: plainEnviron()})
	if err != nil {
		t.Fatalf("the tests need Python: %v", err)
	}
	var minor int
	_, _ = fmt.Sscanf(usual.Version, "3.%d.", &minor)
	minors[minor] = usual.Path
	list := slices.Sorted(maps.Values(minors))
	t.Logf("interpreters: %s", strings.Join(list, ", "))
	return list
}

// Each script must print ok with every interpreter.
func TestScripts(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	tests := []struct{ name, code string }{
		{"every function", `
from hermes_tools import *
from hermes_tools import json_parse, shell_quote, retry
assert read_file("a.txt")["content"].splitlines() == ["1|one", "2|two"], read_file("a.txt")
assert read_file("a.txt", 2, 1)["content"].strip() == "2|two"
assert write_file("b.txt", "x\n")["created"] is True
assert patch("b.txt", "x", "y")["success"]
assert open("b.txt").read() == "y\n"
for lost in patch("b.txt", "y"), patch("b.txt", "y", None), patch(path="b.txt", old_string="y"):
    assert "new_string is missing. Nothing was changed." in lost["error"], lost
assert open("b.txt").read() == "y\n"
found = search_files("one")
assert [m["path"] for m in found["matches"]] == ["a.txt"] and found["total_count"] == 1, found
assert "a.txt" in search_files("*.txt", target="files")["files"]
t = terminal("echo hi; exit 3")
assert (t["output"].strip(), t["exit_code"]) == ("hi", 3), t
assert json_parse('{"a": "line\nbreak"}') == {"a": "line\nbreak"}
assert shell_quote("it's") == "'it'\"'\"'s'"
tries = []
def flaky():
    tries.append(1)
    if len(tries) < 3: raise OSError("no")
    return "done"
assert retry(flaky, max_attempts=3, delay=0) == "done"
print("ok")`},
		{"failures are dicts that explain themselves", `
from hermes_tools import read_file, retry
r = read_file("missing.txt")
assert isinstance(r, dict) and "error" in r, r
try:
    r["content"]
except KeyError as e:
    assert "the call failed" in str(e), e
try:
    read_file("a.txt")["lines"]
except KeyError as e:
    assert "the result has 'content'" in str(e), e
assert "error" in retry(lambda: read_file("missing.txt"), 2, 0)
import json, pickle
assert json.loads(json.dumps(r)) == r and pickle.loads(pickle.dumps(r)) == r
print("ok")`},
		{"arguments of other types", `
from hermes_tools import read_file, search_files
import pathlib
assert read_file(pathlib.Path("a.txt"))["total_lines"] == 2
assert read_file(path="a.txt", limit="1")["content"].strip() == "1|one"
try:
    read_file(object())
except TypeError as e:
    assert "not object" in str(e), e
print("ok")`},
		{"it is the program", `
import sys, os
assert __name__ == "__main__" and len(sys.argv) == 1 and os.path.basename(__file__) == "script.py", (sys.argv, __file__)
assert sys.modules["__main__"].__dict__ is globals()
assert os.getcwd() == os.path.realpath(WORKSPACE), os.getcwd()
assert sys.stdin.read() == ""
assert set(globals()) == {"__name__", "__file__", "__builtins__", "__doc__", "__package__", "__spec__", "__loader__", "sys", "os", "WORKSPACE"}, globals().keys()
print("ok")`},
		{"text of any kind", `
from hermes_tools import write_file, read_file
text = "ünï ☃ \U0001F40D \\ \" \x7f tab\t"
write_file("u.txt", text)
assert read_file("u.txt")["content"] == "1|" + text, read_file("u.txt")
write_file("s.txt", "lone \udcff half")
print("caf\u00e9 \ud800"); print("ok")`},
		{"large results and arguments", `
from hermes_tools import write_file, read_file
text = "".join("%06d %s\n" % (i, "x" * 60) for i in range(9000))
assert write_file("big.txt", text)["bytes_written"] == len(text)
r = read_file("big.txt", limit=1400)
assert len(r["content"]) > 90000 and r["content"].startswith("1|000000 x"), len(r["content"])
assert open("big.txt").read() == text
print("ok")`},
		{"threads have each their own answer", `
from hermes_tools import terminal, read_file
import concurrent.futures as cf
all_there = "touch begun.%d; while ! test -e begun.9 || ! test $(ls | grep -c begun) = 10; do sleep 0.1; done; echo %d"
with cf.ThreadPoolExecutor(10) as pool:
    got = list(pool.map(lambda i: terminal(all_there % (i, i))["output"].strip(), range(10)))
assert got == [str(i) for i in range(10)], got
with cf.ThreadPoolExecutor(16) as pool:
    got = list(pool.map(lambda i: read_file("n%d.txt" % (i % 4))["content"], range(400)))
assert got == ["1|%d" % (i % 4) for i in range(400)], got[:9]
print("ok")`},
		{"asyncio executor", `
import asyncio
from hermes_tools import read_file
async def main():
    loop = asyncio.get_running_loop()
    return await asyncio.gather(*(loop.run_in_executor(None, read_file, "n%d.txt" % (i % 4)) for i in range(40)))
got = asyncio.run(main())
assert [r["content"] for r in got] == ["1|%d" % (i % 4) for i in range(40)]
print("ok")`},
		{"after a fork both go on", `
import os, sys
from hermes_tools import read_file
assert read_file("a.txt")["total_lines"] == 2
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(w, read_file("n3.txt")["content"].encode())
    os._exit(0)
assert list(map(lambda _: read_file("n2.txt")["content"], range(20))) == ["1|2"] * 20
assert os.waitpid(pid, 0)[1] == 0
assert os.read(r, 100) == b"1|3"
print("ok")`},
		{"multiprocessing", `
import multiprocessing as mp
from hermes_tools import read_file
def size(i):
    return read_file("n%d.txt" % i)["content"]
if __name__ == "__main__":
    for how in mp.get_all_start_methods() + [None]:  # the usual one is another in each system and version
        with mp.get_context(how).Pool(2) as pool:
            assert pool.map(size, range(4)) == ["1|0", "1|1", "1|2", "1|3"]
    print("ok")`},
		{"many pools, ended while their processes wait", `
import multiprocessing as mp
if __name__ == "__main__":
    for i in range(30):
        with mp.get_context("fork").Pool(2) as pool:
            assert pool.map(abs, range(4)) == [0, 1, 2, 3]
    print("ok")`},
		{"an interrupted call leaves the others whole", `
import signal, threading, _thread
from hermes_tools import terminal, read_file
def interrupt(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    terminal("sleep 600")
    print("not interrupted")
except KeyboardInterrupt:
    pass
assert read_file("a.txt")["total_lines"] == 2
print("ok")`},
		{"commands share the session's state", `
import os, threading
from hermes_tools import terminal
here = os.getcwd()
assert terminal("cd sub && export X=1")["cwd"] == here + "/sub"
assert terminal("pwd; echo [$X]")["output"].split() == [here + "/sub", "[1]"]
assert terminal("pwd", workdir=here)["output"].strip() == here
assert terminal("pwd")["output"].strip() == here + "/sub"
assert terminal("cd ..; export X=2; sleep 30", timeout=0.2)["timed_out"]
assert terminal("pwd; echo [$X]")["output"].split() == [here + "/sub", "[1]"]
assert os.getcwd() == here
got = {}
def first():
    got["first"] = terminal("echo $X; export X=first; touch begun; while ! test -e ended; do sleep 0.05; done")
def second():
    got["second"] = terminal("while ! test -e begun; do sleep 0.05; done; echo $X; export X=second")
    open(here + "/sub/ended", "w").close()
terminal("export X=before")
both = [threading.Thread(target=f) for f in (first, second)]
[t.start() for t in both]; [t.join() for t in both]
assert [got[k]["output"].strip() for k in ("first", "second")] == ["before", "before"], got
assert terminal("echo $X")["output"].strip() == "first"
print("ok")`},
		{"commands are in the foreground", `
from hermes_tools import terminal
import hermes_tools
assert "foreground only" in terminal("sleep 100", background=True)["error"]
assert "error" in hermes_tools._call("terminal", {"command": "sleep 100", "BACKGROUND": True})
assert "error" in hermes_tools._call("terminal", {"command": "sleep 100", "background": "true"})
assert "no pty" in terminal("tty", None, None, False, True)["error"]
assert terminal("echo x", background=False, pty=False)["output"] == "x\n"
print("ok")`},
		{"writes in the order they were made", `
from hermes_tools import write_file, read_file
import threading
def many(k):
    for i in range(20): write_file("w%d.txt" % k, "%d\n" % i)
ts = [threading.Thread(target=many, args=(k,)) for k in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
assert [open("w%d.txt" % k).read() for k in range(4)] == ["19\n"] * 4
print("ok")`},
	}
	for _, python := range interpreters(t) {
		t.Run(strings.ReplaceAll(python, "/", "_"), func(t *testing.T) {
			t.Parallel()
			for _, tc := range tests {
				t.Run(tc.name, func(t *testing.T) {
					t.Parallel()
					b := newBed(t, Config{Python: python, MaxCalls: 1000}, scriptFiles)
					code := strings.ReplaceAll(strings.TrimLeft(tc.code, "\n"), "WORKSPACE)", fmt.Sprintf("%q)", b.dir))
					if strings.Contains(tc.code, "WORKSPACE") {
						code = fmt.Sprintf("WORKSPACE = %q\n", b.dir) + code
					}
					a, result := b.call(t.Context(), map[string]any{"code": code})
					if a.Status != "success" || !strings.HasSuffix(a.Output, "ok\n") {
						t.Errorf("%s", result.JSON)
					}
				})
			}
		})
	}
}

var scriptFiles = map[string]string{
	"a.txt": "one\ntwo\n", "n0.txt": "0", "n1.txt": "1", "n2.txt": "2", "n3.txt": "3", "sub/x.txt": "",
}

// No code of the workspace runs before the script. No module of the workspace replaces hermes_tools
// or a module of the standard library.
func TestWorkspaceReplacesNothing(t *testing.T) {
	t.Parallel()
	bad := "import os\nopen(os.path.join(os.path.dirname(__file__), 'ran-' + __name__.split('.')[-1]), 'w')\n"
	files := map[string]string{
		"evil.pth": "import os; open('ran-pth', 'w')\n", "startup.py": "open('ran-startup', 'w')\n",
		"start.py": "mine = 1\n", "kernel.py": "mine = 2\n", "ok.py": "mine = 3\n",
	}
	for _, name := range []string{"sitecustomize", "usercustomize", "json", "socket", "threading", "struct", "hermes_tools", "site", "encodings", "_signal", "os", "itertools"} {
		files[name+".py"] = bad
	}
	for _, persist := range []bool{false, true} {
		b := newBed(t, Config{Persist: persist}, files)
		b.runner.cfg.Environ = append(b.runner.cfg.Environ, "PYTHONSTARTUP="+b.dir+"/startup.py", "PYTHONPATH="+b.dir, "PYTHONHOME=/nowhere", "PYTHONUSERBASE="+b.dir)
		a := b.run(`
import sys
sys.path.insert(0, ".")
import hermes_tools, start, kernel, ok
print(hermes_tools.read_file("ok.py")["total_lines"], start.mine, kernel.mine, ok.mine)
`)
		if a.Output != "1 1 2 3\n" {
			t.Errorf("persist %v: %q", persist, a.Output)
		}
		if ran, _ := filepath.Glob(b.dir + "/ran-*"); len(ran) > 0 {
			t.Errorf("persist %v: %q ran", persist, ran)
		}
		if left, _ := filepath.Glob(b.dir + "/__pycache__"); len(left) > 0 {
			t.Errorf("persist %v: a cache was left in the workspace", persist)
		}
	}
}

func TestStrictMode(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Mode: "strict"}, map[string]string{"mine.py": "x = 1\n"})
	a := b.run(`
import os, sys
from hermes_tools import read_file
print(read_file("mine.py")["total_lines"], os.path.basename(os.path.dirname(os.getcwd())).startswith("hermes-ls-exec-"))
try:
    import mine
except ImportError:
    print("apart")
open("here", "w")
`)
	if a.Output != "1 True\napart\n" {
		t.Errorf("%+v", a)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "here")); err == nil {
		t.Error("it ran in the workspace")
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, nil)
	tests := []struct {
		name, code, status string
		exit               int
		output, errors     string // parts
	}{
		{"prints", "print('a'); print('b', end='')", "success", 0, "a\nb", ""},
		{"exits with a number", "import sys; print('x'); sys.exit(7)", "error", 7, "x\n", ""},
		{"exits with 0", "import sys; print('x'); sys.exit(0)", "success", 0, "x\n", ""},
		{"exits with a word", "import sys; sys.exit('no way')", "error", 1, "", "no way\n"},
		{"raises", "def f():\n    return 1 / 0\n\nf()\n", "error", 1, "", "Traceback (most recent call last):\n  File \"script.py\", line 4, in <module>\n    f()\n"},
		{"raises from", "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('v') from e\n", "error", 1, "", "File \"script.py\", line 2, in <module>"},
		{"does not parse", "x = (\n", "error", 1, "", "File \"script.py\", line 1"},
		{"dies by a signal", "import os; print('x', flush=True); os.kill(os.getpid(), 9)", "error", 137, "x\n", ""},
		{"leaves by _exit", "import os; print('x'); os._exit(4)", "error", 4, "x\n", ""},
		{"warns", "import sys; print('w', file=sys.stderr); print('o')", "success", 0, "o\n", "w\n"},
		{"colours", "print('\\x1b[31mred\\x1b[0m \\x1b]52;c;Zm9v\\x07x')", "success", 0, "red x\n", ""},
		{"in a fence", "```python\nprint(1)\n```", "success", 0, "1\n", ""},
		{"in a thread that goes on", "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), print('late'))).start()\nprint('first')", "success", 0, "first\nlate\n", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a := b.fail(tc.code)
			if a.Status != tc.status || a.ExitCode != tc.exit || !strings.HasPrefix(a.Output, tc.output) || !strings.Contains(a.Errors, tc.errors) {
				t.Errorf("%+v", a)
			}
			if strings.Contains(a.Errors, "hermes-ls-exec") || strings.Contains(a.Errors, "start.py") {
				t.Errorf("our own places show: %s", a.Errors)
			}
		})
	}
}

func TestResultHasExactlyItsFields(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, nil)
	_, result := b.call(t.Context(), map[string]any{"code": "print(1)"})
	var fields map[string]any
	if err := json.Unmarshal(result.JSON, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"status", "output", "exit_code", "tool_calls_made", "duration_seconds"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s is missing", name)
		}
		delete(fields, name)
	}
	if len(fields) > 0 {
		t.Errorf("besides there is %v", fields)
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, nil)
	tests := []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"code": ""}, "code is empty"},
		{map[string]any{"code": "  \n"}, "code is empty"},
		{map[string]any{"code": 123}, `"code" must be a string`},
		{map[string]any{}, `"code" is missing`},
		{map[string]any{"command": "ls"}, "code"},
		{map[string]any{"code": "", "command": "ls"}, "Run a shell command with terminal"},
		{map[string]any{"code": "print(1)", "command": "ls"}, "takes only code"},
		{map[string]any{"code": "a\x00b"}, "NUL"},
		{map[string]any{"code": "print(1)", "reset": true}, ""},
	}
	for _, tc := range tests {
		a, result := b.call(t.Context(), tc.args)
		if tc.want == "" {
			if a.Status != "success" {
				t.Errorf("%v: %s", tc.args, result.JSON)
			}
		} else if !strings.Contains(a.Error, tc.want) || !result.IsError {
			t.Errorf("%v: %s, want %q", tc.args, result.JSON, tc.want)
		}
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, scriptFiles)
	tests := []struct{ code, want string }{
		{"from hermes_tools import delegate_task", "hermes_tools has no delegate_task in this session; it has read_file"},
		{"from hermes_tools import web_search", "hermes_tools has no web_search in this session"},
		{"import hermes_tools\nhermes_tools.execute_code('x')", "hermes_tools has no execute_code"},
		{"print(read_file('a.txt'))", "from hermes_tools import read_file"},
		{"import numpy_is_not_here", "numpy_is_not_here is not installed"},
		{"import numpy_is_not_here", "-m pip install"},
		{"from hermes_tools import read_file\nread_file('a.txt').splitlines()", "return dicts"},
		{"from hermes_tools import search_files\nfor m in search_files('one'):\n    m['path']", "return dicts"},
		{"x = input('name? ')", "has no input"},
		{"ls -la\n", "has to be Python"},
		{"x = 1", "printed nothing"},
		{"from hermes_tools import terminal\nprint(terminal('ls')['output'])", "call terminal directly"},
		{"import subprocess\nprint(subprocess.run(['ls'], capture_output=True).stdout)", "call terminal directly"},
		{"print('x' * 10)", ""},
		{"raise ValueError('x')", "what it had changed stays"},
		{"from hermes_tools import read_file\nread_file(file_path='a.txt')", "The function is read_file(path, "},
		{"print 'x'", "Nothing was run. Correct the line"},
		{"const a = 1;\nconsole.log(a)", "has to be Python"},
		{"!ls", "has to be Python"},
		{"open('absent.txt')", "Paths are relative"},
	}
	for _, tc := range tests {
		a := b.fail(tc.code)
		if tc.want == "" && a.Note != "" || !strings.Contains(a.Note, tc.want) {
			t.Errorf("%s\n\tnote %q, want %q\n\terrors %s", tc.code, a.Note, tc.want, a.Errors)
		}
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{MaxCalls: 3}, scriptFiles)
	a := b.run(`
import hermes_tools
for name in ("execute_code", "delegate_task", "clarify", "todo", "mcp__x__y", "process", "nonsense"):
    print(hermes_tools._call(name, {})["error"])
for _ in range(5):
    print(hermes_tools.read_file("a.txt").get("error", "read"))
`)
	lines := strings.Split(strings.TrimSpace(a.Output), "\n")
	if a.ToolCalls != 3 || len(lines) != 12 {
		t.Fatalf("%+v", a)
	}
	for i, name := range []string{"execute_code", "delegate_task", "clarify", "todo", "mcp__x__y", "process", "nonsense"} {
		if want := fmt.Sprintf("Tool '%s' is not available in execute_code. Use it as a normal tool call instead.", name); lines[i] != want {
			t.Errorf("%s: %q", name, lines[i])
		}
	}
	limit := "Tool call limit reached (3). No more tool calls allowed in this execution."
	if got, want := lines[7:], []string{"read", "read", "read", limit, limit}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A script is ended if it continues to call tools after the limit.
func TestStubbornScript(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{MaxCalls: 2}, scriptFiles)
	a := b.fail("from hermes_tools import read_file\nprint('begin')\nwhile True:\n    read_file('a.txt')\n")
	if a.Status != "error" || !strings.Contains(a.Errors, "went on calling tools after the limit of 2 calls") || a.ToolCalls != 2 || a.Output != "begin\n" {
		t.Errorf("%+v", a)
	}
}

func TestOnlyOfferedFunctions(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, scriptFiles)
	offered := b.env.Dispatch.Offered
	b.env.Dispatch.Offered = func(name string) bool { return offered(name) && (name == "read_file" || name == "execute_code") }
	a := b.run("import hermes_tools\nprint(sorted(n for n in dir(hermes_tools) if callable(getattr(hermes_tools, n)) and n[0].islower()))\nprint(hermes_tools._call('terminal', {'command': 'ls'}))")
	if !strings.HasPrefix(a.Output, "['json_parse', 'read_file', 'retry', 'shell_quote']\n") || !strings.Contains(a.Output, "not available in execute_code") {
		t.Errorf("%s", a.Output)
	}
}

// hermes_tools contains the session's tools. Their parameters are in schema order, with type hints
// and documentation.
func TestModule(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, scriptFiles)
	for _, tool := range web.Tools(web.Config{Search: &websearch.Engine{}, Version: "test"}) {
		if err := b.set.Add(tool); err != nil {
			t.Fatal(err)
		}
	}
	b.env.Dispatch.Offered = nil // all are
	a := b.run(`
import hermes_tools, inspect
for name, f in inspect.getmembers(hermes_tools, inspect.isfunction):
    if not name.startswith("_") and f.__module__ == "hermes_tools":
        print(name + str(inspect.signature(f)))
print(hermes_tools.read_file.__doc__)
`)
	want := `
json_parse(text: str)
patch(path: 'str | None' = None, old_string: 'str | None' = None, new_string: 'str | None' = None, replace_all: 'bool | None' = None, mode: 'str | None' = None, patch: 'str | None' = None) -> dict
read_file(path: str, offset: 'int | None' = None, limit: 'int | None' = None) -> dict
retry(fn, max_attempts: int = 3, delay: float = 2)
search_files(pattern: str, target: 'str | None' = None, path: 'str | None' = None, file_glob: 'str | None' = None, limit: 'int | None' = None, offset: 'int | None' = None, context: 'int | None' = None, output_mode: 'str | None' = None) -> dict
shell_quote(text: str) -> str
terminal(command: str, timeout: 'float | None' = None, workdir: 'str | None' = None, background: 'bool | None' = None, pty: 'bool | None' = None, watch_patterns: 'list | None' = None) -> dict
web_extract(urls: list, char_limit: 'int | None' = None) -> dict
web_search(query: str, limit: 'int | None' = None) -> dict
write_file(path: str, content: str) -> dict
Read a text file, or list a directory.

read_file(path, offset=1, limit=500) → content ("1|line\n…"), total_lines, truncated, next_offset

path: file or directory, relative to the workspace folder
offset: first line; default 1
limit: number of lines; default 500
`
	if a.Output != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%s", a.Output)
	}
	b.env.Dispatch.Offered = func(name string) bool { return name == "write_file" }
	if a := b.run("import hermes_tools\nprint(hasattr(hermes_tools, 'read_file'), hasattr(hermes_tools, 'write_file'))"); a.Output != "False True\n" {
		t.Errorf("%+v", a)
	}
}

// A tool may have any schema and any description.
func TestModuleOfAnyTool(t *testing.T) {
	t.Parallel()
	text := "Says \"\"\"so\"\"\" \\N{x} \u2603\" and more"
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{
		"optional": map[string]any{"type": "object", "description": text},
		"needed":   map[string]any{"type": []string{"array", "null"}},
	}, "required": []string{"needed"}})
	if err != nil {
		t.Fatal(err)
	}
	source, err := module([]tools.Tool{{Name: "any", Description: text, Schema: schema, Script: text}, {Name: "none", Schema: []byte("{}")}})
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, Config{}, map[string]string{"m/generated.py": source})
	a := b.run(`
import sys, inspect
sys.path.append("m")
import generated
print(inspect.signature(generated.any), inspect.signature(generated.none), generated.any.__doc__.count('Says """so""" \\N{x} \u2603" and more'))
`)
	if want := "(needed: object, optional: 'dict | None' = None) -> dict () -> dict 3\n"; a.Output != want {
		t.Errorf("got %q, want %q\n%s", a.Output, want, source)
	}
}

func TestDescription(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{MaxCalls: 7}, nil)
	describe := func(toolsets ...string) string {
		set, err := b.set.Select(toolsets, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range set.Specs(t.Context()) {
			if spec.Name == "execute_code" {
				return spec.Description
			}
		}
		t.Fatal("execute_code is not offered")
		return ""
	}
	all := describe("coding")
	for _, want := range []string{"read_file(", "terminal(", "300 seconds", "7 tool calls", "50KB", "10KB", "2048 MB", "starts fresh"} {
		if !strings.Contains(all, want) {
			t.Errorf("the description lacks %q:\n%s", want, all)
		}
	}
	for _, no := range []string{"web_", "{{", "LIMITS", "PLACE"} {
		if strings.Contains(all, no) {
			t.Errorf("the description has %q:\n%s", no, all)
		}
	}
	if few := describe("code_execution", "terminal"); strings.Contains(few, "read_file") || !strings.Contains(few, "terminal(") {
		t.Errorf("with terminal alone:\n%s", few)
	}
}

// The editor shows code, output and changes; transcripts also list the calls.
func TestShown(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, scriptFiles)
	progress := b.env.Progress
	b.env.Progress = func(p tools.Progress) { // the command waits until it is shown
		progress(p)
		if strings.HasSuffix(p.Line, " · terminal while ! test -e shown; do sleep 0.05; done") {
			if err := os.WriteFile(filepath.Join(b.dir, "shown"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	_, result := b.call(t.Context(), map[string]any{"code": `
from hermes_tools import read_file, write_file, terminal
import hermes_tools
print("begun", flush=True)
read_file("a.txt"); read_file("missing.txt"); write_file("c.txt", "z" * 3000); terminal("while ! test -e shown; do sleep 0.05; done")
hermes_tools._call("todo", {})
`})
	var inner []tools.Inner
	var text string
	diffs := 0
	for _, c := range result.Shown {
		text += c.Text
		if c.Diff != nil {
			diffs++
		}
		if c.Inner != nil {
			inner = append(inner, *c.Inner)
		}
	}
	var listed []string
	for _, c := range inner {
		listed = append(listed, c.Tool+" "+c.Status)
		if len(c.Arguments) > 1000 || !json.Valid(c.Arguments) {
			t.Errorf("arguments of %s: %s", c.Tool, c.Arguments)
		}
	}
	if want := []string{"read_file completed", "read_file failed", "write_file completed", "terminal completed", "todo rejected"}; !slices.Equal(listed, want) {
		t.Errorf("listed %q, want %q", listed, want)
	}
	if diffs != 1 || !strings.Contains(text, "```python\n") || !strings.Contains(text, "begun") {
		t.Errorf("%d diffs, text %s", diffs, text)
	}
	if strings.Contains(string(result.JSON), "missing.txt") {
		t.Errorf("the result lists calls: %s", result.JSON)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	streamed := false
	for _, p := range b.news {
		if p.CallID != "c1" {
			t.Errorf("news of a call %q", p.CallID)
		}
		lines = append(lines, p.Line)
		streamed = streamed || len(p.Shown) == 2 && strings.Contains(p.Shown[1].Text, "begun")
	}
	if !strings.HasPrefix(lines[0], "execute_code · 0/50 calls · 0 s") || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "execute_code · 4/50 calls · ") }) || !streamed {
		t.Errorf("lines %q, streamed %v", lines, streamed)
	}
}

// Code that looks destructive asks once. Its calls ask separately.
func TestApprovals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code  string
		asks  []string // parts of the titles of approval requests
		yes   bool
		gives string
	}{
		{"print(1 + 1)", nil, true, "2\n"},
		{"import shutil\nshutil.rmtree('sub')\nprint('gone')", []string{"import shutil"}, true, "gone\n"},
		{"import shutil\nshutil.rmtree('sub')\nprint('gone')", []string{"import shutil"}, false, "The user denied"},
		{"from hermes_tools import terminal\nprint(terminal('rm -rf sub')['exit_code'])", []string{"rm -rf sub"}, true, "0\n"},
		{"from hermes_tools import terminal\nprint(terminal('rm -rf sub')['error'])", []string{"rm -rf sub"}, false, "The user denied"},
		{"import shutil\nshutil.rmtree('/')", nil, true, "Blocked"},
		{"#" + strings.Repeat("x", 70<<10), nil, true, "longer than 64 KB"},
	}
	for _, tc := range tests {
		b := newBed(t, Config{}, scriptFiles)
		if !tc.yes {
			b.says = tools.DecisionDeny
		}
		a, result := b.call(t.Context(), map[string]any{"code": tc.code})
		var asked []string
		for _, q := range b.asked {
			asked = append(asked, q.Title)
			if q.SessionID != "test" || q.Call.ID != "c1" {
				t.Errorf("asked for session %q, call %q", q.SessionID, q.Call.ID)
			}
		}
		if len(asked) != len(tc.asks) || len(asked) == 1 && !strings.Contains(asked[0], tc.asks[0]) {
			t.Errorf("%.60s: asked %q, want %q", tc.code, asked, tc.asks)
		}
		if !strings.Contains(a.Output+a.Error, tc.gives) {
			t.Errorf("%.60s: %s, want %q", tc.code, result.JSON, tc.gives)
		}
		_, err := os.Stat(filepath.Join(b.dir, "sub"))
		if kept := err == nil; kept == (tc.yes && len(tc.asks) > 0) {
			t.Errorf("%.60s: the folder is there: %v", tc.code, kept)
		}
	}
}

// Commands of a script change the session's shell state, as normal calls do. If the script is
// canceled, its running command changes nothing.
func TestShellStateStays(t *testing.T) {
	t.Parallel()
	for name, persist := range map[string]bool{"its own process": false, "kernel": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{Persist: persist}, map[string]string{"sub/a": "", "sub/deep/a": ""})
			state := func() string {
				t.Helper()
				result, err := b.set.Call(t.Context(), b.env, tools.Call{Name: "terminal", Args: []byte(`{"command":"echo $X; pwd"}`)})
				var out struct{ Output string }
				if err := errors.Join(err, json.Unmarshal(result.JSON, &out)); err != nil {
					t.Fatal(err)
				}
				return strings.ReplaceAll(strings.TrimSpace(out.Output), b.dir, "")
			}
			if _, err := b.set.Call(t.Context(), b.env, tools.Call{Name: "terminal", Args: []byte(`{"command":"export X=0; cd sub"}`)}); err != nil {
				t.Fatal(err)
			}
			b.run("from hermes_tools import terminal\nassert terminal('echo $X; pwd')['output'].endswith('/sub\\n')\nterminal('cd deep; export X=1')")
			if got := state(); got != "1\n/sub/deep" {
				t.Errorf("after the script: %q", got)
			}
			b.run("from hermes_tools import terminal\nterminal('cd ..')")
			if got := state(); got != "1\n/sub" {
				t.Errorf("after the next: %q", got)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.onOutput("ready", cancel)
			a, _ := b.call(ctx, map[string]any{"code": "from hermes_tools import terminal\nterminal('export X=2; cd deep')\nprint('ready', flush=True)\nterminal('export X=3; cd /; sleep 1000')"})
			if a.Status != "interrupted" {
				t.Errorf("%+v", a)
			}
			if got := state(); got != "2\n/sub/deep" {
				t.Errorf("after the cancel: %q", got)
			}
		})
	}
}
