//go:build unix

package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sh is a command for the shell with nothing but PATH.
func sh(script string) Cmd {
	return Cmd{Args: []string{"sh", "-c", script}, Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func TestExit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		script string
		want   Exit
	}{
		{"exit 0", Exit{}},
		{"exit 3", Exit{Code: 3}},
		{"exit 255", Exit{Code: 255}},
		{"kill -9 $$", Exit{Code: 137, Signal: "SIGKILL"}},
		{"kill -TERM $$", Exit{Code: 143, Signal: "SIGTERM"}},
		{"kill -SEGV $$", Exit{Code: 139, Signal: "SIGSEGV"}},
		{"trap 'exit 5' TERM; kill -TERM $$", Exit{Code: 5}},
	} {
		got, err := Run(t.Context(), sh(tt.script))
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.script, got, err, tt.want)
		}
	}
}

func TestStartError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "text", 0o644)
	lost := write("lost", "#!/no/such/interpreter\n", 0o755)
	for _, tt := range []struct {
		name string
		cmd  Cmd
		is   error
		text string
	}{
		{"not in PATH", Cmd{Args: []string{"no-such-program"}, Env: []string{"PATH=/bin"}}, fs.ErrNotExist, "cannot start no-such-program: not found in PATH"},
		{"no PATH", Cmd{Args: []string{"sh"}}, fs.ErrNotExist, "not found in PATH"},
		{"not executable in PATH", Cmd{Args: []string{"plain"}, Env: []string{"PATH=" + dir}}, fs.ErrPermission, "not executable"},
		{"path not there", Cmd{Args: []string{"./gone"}, Dir: dir}, fs.ErrNotExist, "no such file"},
		{"path not executable", Cmd{Args: []string{plain}}, fs.ErrPermission, "permission denied"},
		{"no interpreter", Cmd{Args: []string{lost}}, fs.ErrNotExist, "interpreter"},
		{"no folder", Cmd{Args: []string{"/bin/sh"}, Dir: dir + "/gone"}, fs.ErrNotExist, "working directory"},
		{"folder is a file", Cmd{Args: []string{"/bin/sh"}, Dir: plain}, nil, "not a folder"},
		{"nothing", Cmd{}, nil, "no program"},
		{"empty name", Cmd{Args: []string{""}}, nil, "no program"},
		{"NUL", Cmd{Args: []string{"/bin/sh", "a\x00b"}}, nil, "NUL"},
	} {
		_, err := Start(t.Context(), tt.cmd)
		var start *StartError
		if !errors.As(err, &start) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want a StartError with %q", tt.name, err, tt.text)
		}
		if tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v is not %v", tt.name, err, tt.is)
		}
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	c := sh("echo out; echo err >&2; pwd; echo $A; cat")
	c.Dir, c.Stdout, c.Stderr = "/", &out, &errs
	c.Env = append(c.Env, "A=first", "A=last one")
	c.Stdin = strings.NewReader("from stdin")
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "out\n/\nlast one\nfrom stdin"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if got := errs.String(); got != "err\n" {
		t.Errorf("stderr %q", got)
	}

	var both bytes.Buffer
	c = sh("for i in 1 2 3; do echo o$i; echo e$i >&2; done")
	c.Stdout, c.Stderr = &both, &both
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := both.String(); got != "o1\ne1\no2\ne2\no3\ne3\n" {
		t.Errorf("the order of both is lost: %q", got)
	}
}

func TestEnvironmentIsWhatWasGiven(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	_, err := Run(t.Context(), Cmd{Args: []string{"/usr/bin/env"}, Env: []string{"ONE=1", "LINES=a\nb"}, Stdout: &out})
	if err != nil || out.String() != "ONE=1\nLINES=a\nb\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// counter counts bytes and keeps none.
type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) { c.n += len(b); return len(b), nil }

func TestLargeStreams(t *testing.T) {
	t.Parallel()
	var out counter
	c := sh("head -c 50000000 /dev/zero")
	c.Stdout = &out
	if _, err := Run(t.Context(), c); err != nil || out.n != 50_000_000 {
		t.Errorf("took %d bytes, %v", out.n, err)
	}
	out.n = 0
	c = sh("cat")
	c.Stdin, c.Stdout = io.LimitReader(zeros{}, 5_000_000), &out
	if _, err := Run(t.Context(), c); err != nil || out.n != 5_000_000 {
		t.Errorf("through cat: %d bytes, %v", out.n, err)
	}
	big := strings.Repeat("x", 100_000)
	out.n = 0
	c = sh(`printf %s "$0$A"`)
	c.Args, c.Env, c.Stdout = append(c.Args, big), append(c.Env, "A="+big), &out
	if _, err := Run(t.Context(), c); err != nil || out.n != 200_000 {
		t.Errorf("long arguments and environment: %d bytes, %v", out.n, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A child does not read its stdin, and the stdin never ends.
func TestStdinIsLetGo(t *testing.T) {
	t.Parallel()
	c := sh("exit 4")
	c.Stdin = io.LimitReader(zeros{}, 1<<20)
	if got, err := Run(t.Context(), c); err != nil || got.Code != 4 {
		t.Errorf("unread stdin: %+v, %v", got, err)
	}
	r, w := io.Pipe()
	defer w.Close() // a pipe's never fails
	c.Stdin = r
	if got, err := Run(t.Context(), c); err != nil || got.Code != 4 {
		t.Errorf("endless stdin: %+v, %v", got, err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriterThatFails(t *testing.T) {
	t.Parallel()
	c := sh("yes")
	c.Stdout = broken{}
	got, err := Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "disk full") || got.Code != 141 {
		t.Errorf("%+v, %v", got, err)
	}
}

// stubborn are scripts trying to outlive their call. Each prints the pids to check for death
// afterwards, and then waits forever.
var stubborn = map[string]string{
	"plain":        `echo $$; sleep 1000`,
	"TERM ignored": `trap '' TERM; echo $$; while :; do sleep 1; done`,
	"background":   `sleep 1000 & echo $!; sleep 1000`,
	"setsid":       `setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000`,
	"double fork":  `(setsid sh -c 'trap "" TERM HUP; (sh -c "echo \$\$; while :; do sleep 1; done" &) ; echo $$; sleep 1000' &) ; sleep 1000`,
	"stopped":      `sh -c 'echo $$; kill -STOP $$' & sleep 1000`,
	"python daemon": `python3 -c '
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(2):
    if os.fork(): time.sleep(1000)
    os.setsid()
print(os.getpid(), flush=True)
os.close(0); os.close(2)
time.sleep(1000)'`,
	"fork loop": `sh -c 'trap "" TERM; echo $$; while :; do sleep 1000 & sleep 0.01; done'`,
	"hopping": `exec python3 -c '
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
while True:
    if os.fork(): os._exit(0)
    os.setsid()
    time.sleep(0.002)'`,
}

// comeUp reads the pids printed by a stubborn script and discards all other output. Then it waits
// for a moment, in which some scripts stop or fork; the tests pass in any case.
func comeUp(t *testing.T, script string, r io.Reader) {
	t.Helper()
	lines := bufio.NewReader(r)
	for range strings.Count(script, "echo ") + strings.Count(script, "print(") {
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("it did not come up: %v", err)
		}
	}
	go io.Copy(io.Discard, lines) // ends with the pipe
	time.Sleep(20 * time.Millisecond)
}

func TestNothingSurvivesACancel(t *testing.T) {
	t.Parallel()
	for name, script := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			marker := "MARK=" + strings.ReplaceAll(t.Name(), " ", "_") + fmt.Sprint(os.Getpid())
			c := sh(script)
			c.Env = append(c.Env, marker)
			r, w := io.Pipe()
			c.Stdout = w
			p, err := Start(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			comeUp(t, script, r)
			cancel()
			if _, err := p.Wait(); !errors.Is(err, context.Canceled) {
				t.Errorf("Wait: %v", err)
			}
			w.Close() // a pipe's never fails
			if left := carriers(t, marker); len(left) > 0 {
				t.Errorf("still alive: %v", left)
			}
		})
	}
}

// After a normal exit the background processes end too, and their open pipe delays no call.
func TestNothingSurvivesTheCall(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"holds the pipe":         `sleep 1000 & echo out`,
		"lets the pipe go":       `sleep 1000 >/dev/null 2>&1 & echo out`,
		"in a session":           `setsid sleep 1000 & echo out`,
		"ignores TERM":           `sh -c 'trap "" TERM; while :; do sleep 1; done' & echo out`,
		"writes without end":     `echo out; yes >&2 &`,
		"late but soon enough":   `(echo out) &`,
		"a last word and a pipe": `{ echo out; sleep 1000; } &`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := "MARK=" + strings.ReplaceAll(t.Name(), " ", "_") + fmt.Sprint(os.Getpid())
			var out bytes.Buffer
			c := sh(script)
			c.Env = append(c.Env, marker)
			c.Stdout, c.Stderr = &out, io.Discard
			start := time.Now()
			got, err := Run(t.Context(), c)
			if err != nil || got.Code != 0 || out.String() != "out\n" {
				t.Errorf("%+v, %v, %q", got, err, out.String())
			}
			if d := time.Since(start); d > 5*time.Minute { // the sleeps are longer
				t.Errorf("the call was kept open for %v", d)
			}
			if left := carriers(t, marker); len(left) > 0 {
				t.Errorf("still alive: %v", left)
			}
		})
	}
}

// whenWritten calls then with each output.
type whenWritten struct {
	bytes.Buffer
	then func()
}

func (w *whenWritten) Write(b []byte) (int, error) {
	defer w.then()
	return w.Buffer.Write(b)
}

func TestGrace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	out := &whenWritten{then: cancel}
	c := sh(`trap 'sleep 0.3; echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done`)
	c.Stdout = out
	c.Grace = 2 * time.Minute
	got, err := Run(ctx, c)
	if got.Code != 7 || !errors.Is(err, context.Canceled) || out.String() != "up\nbye\n" {
		t.Errorf("%+v, %v, %q: it had the time to end by itself", got, err, out.String())
	}

	r, w := io.Pipe()
	c = sh(`trap '' TERM; echo up; while :; do sleep 0.1; done`)
	c.Stdout = w
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 10)); err != nil { // the trap is set
		t.Fatal(err)
	}
	p.Stop(time.Hour)
	p.Stop(time.Millisecond) // a second stop shortens the first
	if got, err := p.Wait(); err != nil || got.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", got, err)
	}
	p.Stop(0)
	p.Stop(time.Second)
	if got, _ := p.Wait(); got.Signal != "SIGKILL" {
		t.Errorf("a second Wait says %+v", got)
	}
}

func TestCancelledBeforeTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, sh("exit 0")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Not parallel: it counts this process's descriptors.
func TestNoDescriptorIsLeft(t *testing.T) {
	count := func() int {
		names, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	all := sh("cat; echo out; echo err >&2")
	all.Stdin, all.Stdout, all.Stderr = strings.NewReader("in"), io.Discard, &counter{}
	if _, err := Run(t.Context(), sh("exit 0")); err != nil { // the first start opens the runtime's own descriptors
		t.Fatal(err)
	}
	before := count()
	for range 5 {
		if _, err := Run(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), Cmd{Args: []string{"/no/such"}, Stdin: strings.NewReader("in"), Stdout: io.Discard}); err == nil {
			t.Fatal("it started")
		}
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors before, %d afterwards", before, after)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	results := make(chan error)
	for i := range 20 {
		go func() {
			var out bytes.Buffer
			c := sh(fmt.Sprintf("echo %d; exit %d", i, i))
			c.Stdout = &out
			got, err := Run(t.Context(), c)
			if err == nil && (got.Code != i || out.String() != fmt.Sprintln(i)) {
				err = fmt.Errorf("call %d: %+v, %q", i, got, out.String())
			}
			results <- err
		}()
	}
	for range 20 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"PATH": false, "HOME": false, "LANG": false, "GOFLAGS": false,
		"OPENAI_API_KEY": true, "github_token": true, "DbPassword": true, "SSH_AUTH_SOCK": true,
		"AWS_SECRET_ACCESS": true, "GOOGLE_CREDENTIALS": true, "PGPASSWD": true, "Monkey": true,
	} {
		if Secret(name) != want {
			t.Errorf("Secret(%q) = %v", name, !want)
		}
	}
	env, withheld := Filter([]string{"Z_TOKEN=1", "PATH=/bin", "A_KEY=2", "OK_KEY=3"}, []string{"OK_KEY"})
	if fmt.Sprint(env, withheld) != "[PATH=/bin OK_KEY=3] [A_KEY Z_TOKEN]" {
		t.Error(env, withheld)
	}
}
