//go:build unix

package codeexec

import (
	"testing"
)

func TestFirst(t *testing.T) {
	b := newBed(t, Config{}, map[string]string{"a.txt": "one\ntwo\n", "m.py": "X=1\n", "json.py": "raise SystemExit('json of the workspace')"})
	a := b.run(`
from hermes_tools import read_file, terminal, search_files, write_file, patch
import json, m, sys
print(read_file("a.txt"))
print(terminal("echo hi; pwd")["output"])
print(search_files("one"))
print(write_file("b.txt", "x"*10))
print(patch("b.txt", "xxxxxxxxxx", "y"))
print(sys.path, sys.argv, __name__, __file__)
`)
	t.Logf("%+v", a)
	a = b.fail("import sys\ndef f():\n    1/0\nf()\n")
	t.Logf("%+v", a)
	a = b.fail("import nothing")
	t.Logf("%+v", a)
	a = b.fail("x = (")
	t.Logf("%+v", a)
}
