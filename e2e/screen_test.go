//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// screenLimit is how long a screen may take to show something.
const screenLimit = 3 * time.Minute

// screen is a terminal in which a real editor runs, and a user looks and types.
type screen struct {
	t        *testing.T
	server   string // of tmux
	pictures string // where pictures are kept; empty: nowhere
}

// screen starts a program in a separate terminal. Pictures are kept in e2e/NAME/artefacts.
func (b bed) screen(t *testing.T, pictures, program string, args ...string) *screen {
	t.Helper()
	found(t, "tmux")
	s := &screen{t: t, server: filepath.Join(filepath.Dir(b.home), "tmux"), pictures: filepath.Join(root(t), "e2e", pictures, "artefacts")}
	if err := os.MkdirAll(s.pictures, 0o755); err != nil {
		t.Fatal(err)
	}
	start := exec.Command("tmux", append([]string{"-S", s.server, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "--", program}, args...)...)
	start.Dir, start.Env = b.workspace, append(b.environ(), "LANG=C.UTF-8", "TERM=xterm-256color")
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("starting %s in a terminal: %v\n%s", program, err, out)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen at the end:\n%s", s.text())
		}
		s.tmux("kill-server")
	})
	return s
}

func (s *screen) tmux(args ...string) string {
	out, _ := exec.Command("tmux", append([]string{"-S", s.server}, args...)...).CombinedOutput()
	return string(out)
}

// text returns the text of the screen.
func (s *screen) text() string { return s.tmux("capture-pane", "-p") }

// keys presses keys, by tmux's names for them.
func (s *screen) keys(keys ...string) {
	s.tmux(append([]string{"send-keys", "--"}, keys...)...)
}

// write types a text.
func (s *screen) write(text string) { s.tmux("send-keys", "-l", "--", text) }

// paste pastes a text.
func (s *screen) paste(text string) {
	load := exec.Command("tmux", "-S", s.server, "load-buffer", "-")
	load.Stdin = strings.NewReader(text)
	if out, err := load.CombinedOutput(); err != nil {
		s.t.Fatalf("pasting: %v\n%s", err, out)
	}
	s.tmux("paste-buffer", "-p", "-r")
}

// ended waits for the end of the program.
func (s *screen) ended() {
	s.t.Helper()
	s.until("the editor to end", func() bool {
		_, err := exec.Command("tmux", "-S", s.server, "list-sessions").CombinedOutput()
		return err != nil
	})
}

// line types a text and ends the line.
func (s *screen) line(text string) {
	s.write(text)
	s.keys("Enter")
}

// wait looks until the screen shows all of it.
func (s *screen) wait(want ...string) string {
	s.t.Helper()
	var shown string
	s.until(fmt.Sprintf("the screen to show %q", want), func() bool {
		shown = s.text()
		for _, w := range want {
			if !strings.Contains(shown, w) {
				return false
			}
		}
		return true
	})
	return shown
}

func (s *screen) until(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(screenLimit); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// keep keeps a picture of the screen for people to look at.
func (s *screen) keep(name string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.pictures, name+".txt"), []byte(s.text()), 0o644); err != nil {
		s.t.Fatal(err)
	}
}
