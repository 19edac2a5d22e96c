//go:build unix

package proc

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestSpare starts children with a waiting supervisor.
func TestSpare(t *testing.T) {
	t.Parallel()
	var s Spare
	defer s.Close()
	run := func(script string) (code int, out string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		exit, err := Run(t.Context(), Cmd{
			Args: []string{"/bin/sh", "-c", script}, Dir: "/", Env: []string{"A=b"}, Spare: &s,
			Stdin: strings.NewReader("in\n"), Stdout: &stdout, Stderr: &stderr,
		})
		if err != nil {
			t.Fatal(err)
		}
		return exit.Code, stdout.String() + stderr.String()
	}
	waits := func() owner {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.owner
	}
	const script = "cat; echo $A; echo err >&2; exit 3"
	if code, out := run(script); code != 3 || out != "in\nb\nerr\n" {
		t.Errorf("without a waiting one: %d %q", code, out)
	}
	for range 2 {
		s.Fill()
		s.filling.Wait()
		one := waits()
		if one == nil {
			t.Fatal("no supervisor waits")
		}
		if code, out := run(script); code != 3 || out != "in\nb\nerr\n" || waits() != nil {
			t.Errorf("by a waiting one: %d %q", code, out)
		}
	}
	s.Fill()
	s.filling.Wait()
	if err := waits().(supervised).process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !ended(s.pipes); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the supervisor does not end")
		}
	}
	if code, out := run(script); code != 3 || out != "in\nb\nerr\n" {
		t.Errorf("after one was killed: %d %q", code, out)
	}
	s.Fill()
	s.Close()
	s.Fill()
	if waits() != nil {
		t.Error("a supervisor waits after Close")
	}
}
