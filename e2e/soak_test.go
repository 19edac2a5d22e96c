//go:build e2e && linux

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var turns = flag.Int("turns", 60, "how many turns TestSoak has; make soak has 1,000")

// holding is the memory and the handles of a process.
type holding struct{ rssKB, files, threads, children int }

func (l *line) holding() (h holding) {
	l.t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(l.cmd.Process.Pid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		l.t.Fatal(err)
	}
	for text := range strings.Lines(string(status)) {
		switch f := strings.Fields(text); f[0] {
		case "VmRSS:":
			h.rssKB, _ = strconv.Atoi(f[1])
		case "Threads:":
			h.threads, _ = strconv.Atoi(f[1])
		}
	}
	if os.Geteuid() == 0 { // the server hides them from its user's other programs
		open, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			l.t.Fatal(err)
		}
		h.files = len(open)
	}
	tasks, err := filepath.Glob(filepath.Join(dir, "task", "*", "children"))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // a thread may have ended
		h.children += len(strings.Fields(string(children)))
	}
	return h
}

// A server works turn after turn, with files and commands. In the end it holds no more than after
// the first fifth: its log is small, and nothing else stays.
func TestSoak(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": "one\ntwo\n"})
	l := b.line(t)
	session := l.newSession(b.workspace)
	var early holding
	began := time.Now()
	for n := range *turns {
		var answered struct{ StopReason string }
		prompt := fmt.Sprintf("turn %d\n```hermes-script\n"+
			`[{"text":"I work. "},{"call":{"name":"write_file","args":{"path":"b.txt","content":"%d\n"}}},{"call":{"name":"read_file","args":{"path":"b.txt"}}}]`+"\n"+
			`[{"call":{"name":"terminal","args":{"command":"cat a.txt b.txt"}}}]`+"\n"+
			`[{"text":"Done with %d."}]`+"\n```", n, n, n)
		l.call("session/prompt", promptOf(session, prompt), &answered, nil)
		if answered.StopReason != "end_turn" {
			t.Fatalf("turn %d ended with %q", n, answered.StopReason)
		}
		if n == *turns/5 {
			early = l.holding()
		}
	}
	took := time.Since(began)
	late := l.holding()
	l.end()
	t.Logf("%d turns, %v each; after a fifth %+v, at the end %+v", *turns, took/time.Duration(*turns), early, late)
	if late.rssKB > early.rssKB+early.rssKB/2+16<<10 {
		t.Errorf("memory grows: %d KB after a fifth, %d KB at the end", early.rssKB, late.rssKB)
	}
	if late.files > early.files+4 || late.threads > early.threads+8 || late.children > early.children {
		t.Errorf("something stays: %+v after a fifth, %+v at the end", early, late)
	}
}
