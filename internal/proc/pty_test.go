//go:build unix

package proc

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestPTY(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	script := `stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal; echo own >/dev/tty; read x; echo got $x; exit 3`
	exit, err := Run(t.Context(), Cmd{
		Args: []string{"sh", "-c", script}, Env: os.Environ(),
		Stdin: strings.NewReader("word\n"), Stdout: &out, PTY: &WindowSize{Rows: 33, Cols: 77},
	})
	if err != nil || exit.Code != 3 {
		t.Errorf("%+v, %v", exit, err)
	}
	got := strings.ReplaceAll(out.String(), "\r\n", "\n")
	for _, want := range []string{"33 77\n", "terminal\n", "own\n", "got word\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}

// A process holding the terminal open delays no call, nor does input the child does not read.
func TestPTYEnds(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var out bytes.Buffer
	if _, err := Run(t.Context(), Cmd{
		Args: []string{"sh", "-c", "setsid sleep 1000 & echo done"}, Env: os.Environ(), Stdout: &out, PTY: &WindowSize{Rows: 24, Cols: 80},
	}); err != nil || !strings.Contains(out.String(), "done") {
		t.Errorf("%q, %v", &out, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	typed, keys := io.Pipe()
	defer keys.Close() // nothing is buffered
	p, err := Start(ctx, Cmd{Args: []string{"sleep", "1000"}, Env: os.Environ(), Stdin: typed, PTY: &WindowSize{Rows: 24, Cols: 80}})
	if err != nil {
		t.Fatal(err)
	}
	go keys.Write(bytes.Repeat([]byte("x"), 1<<20)) // it fails when the terminal closes
	cancel()
	if exit, err := p.Wait(); exit.Signal == "" || err != ctx.Err() {
		t.Errorf("%+v, %v", exit, err)
	}
	if took := time.Since(began); took > 5*time.Minute { // the sleeps are longer
		t.Errorf("it took %v", took)
	}
}
