package trace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/debug/tap"
	"github.com/hermes-ls/hermes-ls/internal/redact"
)

func options() Options {
	set := redact.New(func() map[string]string { return map[string]string{"KEY": "abcd1234"} })
	return Options{Recording: Recording{Protocol: "acp", Version: "test", Cwd: "/ws", Home: "/home"}, Redact: set.JSON}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.txtar")
	r, err := Open(path, options())
	if err != nil {
		t.Fatal(err)
	}
	r.Frame(tap.Frame{FromClient: true, Body: []byte(`{"id":1,"params":{"key":"abcd1234"}}`)})
	r.Frame(tap.Frame{FromClient: true, Body: []byte("no JSON abcd1234"), Stray: true})
	r.Frame(tap.Frame{Body: []byte(`{"id":1,"result":"\n-- model --\n"}`)})
	r.Model("the goal", []byte(`[{"text":"<abcd1234>"}]`))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		Magic + ", made by hermes-ls test", "\n-- recording --\n{\"protocol\":\"acp\"", "\n-- trace --\n0.0",
		` client {"id":1,"params":{"key":"[secret KEY withheld]"}}` + "\n", ` client stray "no JSON [secret KEY withheld]"` + "\n",
		` server {"id":1,"result":"\n-- model --\n"}` + "\n", ` model "the goal" [{"text":"<[secret KEY withheld]>"}]` + "\n",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%q is missing in\n%s", want, data)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	// An earlier trace is overwritten.
	if r, err = Open(path, options()); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(path); err != nil || len(again) >= len(data) || !strings.HasPrefix(string(again), Magic) {
		t.Errorf("the second trace reads %q, %v", again, err)
	}
}

func TestOpenRejects(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	dir := t.TempDir()
	precious := filepath.Join(dir, "main.go")
	trace := filepath.Join(dir, "earlier")
	for path, text := range map[string]string{precious: "package main\n", trace: Magic + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link, hard := filepath.Join(dir, "link"), filepath.Join(dir, "hard")
	if err := errors.Join(os.Symlink(trace, link), os.Link(trace, hard)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{precious, link, hard, trace, dir, filepath.Join(dir, "missing", "x")} {
		if r, err := Open(path, options()); err == nil {
			_ = r.Close()
			t.Errorf("%s was opened", path)
		}
	}
	if data, err := os.ReadFile(precious); err != nil || string(data) != "package main\n" {
		t.Errorf("the file reads %q, %v", data, err)
	}
}

type failing struct{ blocked chan struct{} }

func (f failing) Write([]byte) (int, error) {
	if f.blocked != nil {
		<-f.blocked
	}
	return 0, errors.New("no space is left")
}
func (f failing) Close() error { return nil }

// A full disk is reported once, and no call waits for a blocked file.
func TestFailure(t *testing.T) {
	t.Parallel()
	told := make(chan error, 10)
	o := options()
	o.Failed = func(err error) { told <- err }
	r := New(failing{}, o)
	err := <-told
	for range 100 {
		r.Frame(tap.Frame{Body: []byte("{}")})
	}
	_ = r.Close()
	if !strings.Contains(err.Error(), "no space is left; the session goes on without it") || len(told) > 0 {
		t.Errorf("told %v, and %d more", err, len(told))
	}

	blocked := make(chan struct{})
	r = New(failing{blocked}, o)
	big := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	for range maxQueue>>20 + 1 {
		r.Frame(tap.Frame{Body: big})
	}
	if err := <-told; !strings.Contains(err.Error(), "takes less than the session writes") {
		t.Error(err)
	}
	if err := r.Close(); err == nil {
		t.Error("Close did not say that the trace is not whole")
	}
	close(blocked)
}
