package logfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Several processes write to the same log. It has at most two files of 1 MB, with the last lines of
// each process.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "logs", "mcp-a.log")
	all := []*File{{Path: path}, {Path: path}, {Path: path}, {Path: path}}
	for n := range 6000 {
		all[n%4].Write(fmt.Sprintf("line %d of %d %s", n, n%4, strings.Repeat("x", 1000)))
	}
	for _, f := range all {
		f.Close()
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var text string
	for _, name := range []string{path + ".1", path} {
		data, err := os.ReadFile(name)
		if err != nil || len(data) > Largest {
			t.Errorf("%s has %d bytes, %v", name, len(data), err)
		}
		text += string(data)
	}
	for n := 5000; n < 6000; n++ {
		if !strings.Contains(text, fmt.Sprintf("line %d of", n)) {
			t.Fatalf("line %d is not there", n)
		}
	}
}
