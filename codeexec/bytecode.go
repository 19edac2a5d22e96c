package codeexec

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// bytecodes are hermes_tools as interpreters have compiled it: reading it anew would
// be a quarter of a short script's time. They are kept in memory, so that no script
// gets what another one has written.
type bytecodes struct {
	mu   sync.Mutex
	kept map[bytecodeKey]*bytecode // nil: under way, or it did not work
}

func newBytecodes() *bytecodes { return &bytecodes{kept: map[bytecodeKey]*bytecode{}} }

type bytecodeKey struct{ python, version, source string }

type bytecode struct {
	name string // of the file beside the source
	data []byte
}

// compileCode compiles what it reads, and prints the interpreter's name for such files,
// a line, and the file, which says of itself that it need not be compared with its
// source (PEP 552).
const compileCode = `import sys, marshal
from _frozen_importlib_external import MAGIC_NUMBER
code = compile(sys.stdin.buffer.read(), "hermes_tools.py", "exec", dont_inherit=True)
sys.stdout.buffer.write(sys.implementation.cache_tag.encode() + b"\n" + MAGIC_NUMBER + b"\1\0\0\0" + bytes(8) + marshal.dumps(code))`

const mostBytecode = 1 << 20

// of is what python has made of source; nil if nothing yet.
func (b *bytecodes) of(python Python, source string) *bytecode {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept[bytecodeKey{python.Path, python.Version, source}]
}

// claim tells whether source has to be compiled. That is said once.
func (b *bytecodes) claim(python Python, source string) bool {
	key := bytecodeKey{python.Path, python.Version, source}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.kept[key]
	if !known {
		b.kept[key] = nil
	}
	return !known
}

// compile has python compile source. confine bounds the process, as it does a script's.
func (b *bytecodes) compile(ctx context.Context, python Python, source string, environ []string, confine func(*proc.Cmd) error) {
	made, err := compiled(ctx, python, source, environ, confine)
	if err != nil {
		return // then scripts go on reading the source
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept[bytecodeKey{python.Path, python.Version, source}] = made
}

func compiled(ctx context.Context, python Python, source string, environ []string, confine func(*proc.Cmd) error) (*bytecode, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var out bytes.Buffer
	c := proc.Cmd{
		Args: []string{python.Path, "-I", "-S", "-B", "-c", compileCode}, Dir: "/", Env: environ,
		Stdin: strings.NewReader(source), Stdout: &atMost{to: &out, left: mostBytecode},
	}
	if err := confine(&c); err != nil {
		return nil, err
	}
	exit, err := proc.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	tag, data, ok := bytes.Cut(out.Bytes(), []byte("\n"))
	if exit.Code != 0 || !ok || len(data) == 0 || out.Len() == mostBytecode || bytes.ContainsAny(tag, "/\\") {
		return nil, fmt.Errorf("%s did not compile hermes_tools", python.Path)
	}
	return &bytecode{"hermes_tools." + string(tag) + ".pyc", data}, nil
}
