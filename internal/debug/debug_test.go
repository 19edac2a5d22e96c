//go:build unix

package debug

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/debug/tap"
)

// short returns a directory whose name leaves room for a socket.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dbg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestListenRejects(t *testing.T) {
	t.Parallel()
	dir := short(t)
	open := filepath.Join(dir, "open")
	file := filepath.Join(dir, "file")
	free := filepath.Join(dir, "free")
	below := filepath.Join(free, "own")
	for _, d := range []string{open, free, below} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{open: 0o755, free: 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(open, "s"):                     "others can enter",
		filepath.Join(below, "s"):                    "others can replace",
		filepath.Join(dir, "missing", "s"):           "mkdir -m 700",
		file:                                         "not a socket",
		filepath.Join(dir, "link"):                   "not a socket",
		filepath.Join(dir, strings.Repeat("x", 120)): "at most 103",
		"/tmp/s-" + filepath.Base(dir):               "mkdir -m 700",
	} {
		l, err := Listen(path)
		if err == nil {
			_ = l.Close()
			l.remove()
			t.Errorf("%s was accepted", path)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "x" {
		t.Errorf("the file reads %q, %v", data, err)
	}
}

// A server removes its own socket only.
func TestRemoveOwn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(short(t), "s")
	first, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	Serve(first, "test", NewMeter()).Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket of the second server is gone: %v", err)
	}
	Serve(second, "test", NewMeter()).Close()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
}

func TestMeter(t *testing.T) {
	t.Parallel()
	m := NewMeter()
	for _, f := range []tap.Frame{
		{FromClient: true, Body: []byte(`{"id":1,"method":"session/prompt","params":"a text"}`)},
		{FromClient: true, Body: []byte(`{"id":"a text of a user","method":"say this, please"}`)},
		{Body: []byte(`{"id":7,"method":"session/request_permission"}`)},
		{Body: []byte(`{"id":9,"method":"fs/read_text_file"}`)},
		{FromClient: true, Body: []byte(`{"id":9,"result":{}}`)},
		{FromClient: true, Body: []byte("no JSON"), Stray: true},
	} {
		m.Frame(f)
	}
	var b strings.Builder
	m.writeCalls(&b)
	m.writeCounters(&b)
	text := b.String()
	for _, want := range []string{"session/prompt", "session/request_permission", "request to the client", "from the client: no message", "from the client: (other)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "a text") || strings.Contains(text, "please") {
		t.Errorf("it shows texts:\n%s", text)
	}
	m.Frame(tap.Frame{Body: []byte(`{"id":1,"result":{}}`)})
	b.Reset()
	m.writeCalls(&b)
	if strings.Contains(b.String(), "session/prompt") {
		t.Errorf("an answered call is open:\n%s", b.String())
	}
}
