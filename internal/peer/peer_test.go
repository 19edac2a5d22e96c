package peer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/internal/proc"
)

const kindWord = "PEER_TEST_KIND"

func TestMain(m *testing.M) {
	modes.Enter()
	switch os.Getenv(kindWord) {
	case "":
		goleak.VerifyTestMain(m)
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "deaf":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "broken":
		os.Exit(3)
	}
	os.Exit(0)
}

func start(t *testing.T, kind string, o Options) *Peer {
	t.Helper()
	if o.Grace == 0 {
		o.Grace = 50 * time.Millisecond
	}
	p, err := Start(t.Context(), proc.Cmd{Args: []string{os.Args[0]}, Env: append(os.Environ(), kindWord+"="+kind)}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// ends waits for the end of a peer.
func ends(t *testing.T, p *Peer) string {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	return p.Exit()
}

// Messages arrive in their order, also if they wait when the input is closed.
func TestEcho(t *testing.T) {
	t.Parallel()
	p := start(t, "echo", Options{Most: 64 << 20, Unread: time.Hour, Grace: time.Minute})
	var want bytes.Buffer
	for i := range 2000 {
		text := fmt.Sprintf("%d %s\n", i, strings.Repeat("x", i))
		want.WriteString(text)
		if n, err := p.In.Write([]byte(text)); err != nil || n != len(text) {
			t.Fatal(n, err)
		}
	}
	got := make(chan []byte)
	go func() { all, _ := io.ReadAll(p.Out); got <- all }()
	p.Close()
	if all := <-got; !bytes.Equal(all, want.Bytes()) {
		t.Errorf("%d bytes came of %d", len(all), want.Len())
	}
	if exit := p.Exit(); exit != "ended with exit code 0" {
		t.Error(exit)
	}
	if _, err := p.In.Write([]byte("x")); err == nil {
		t.Error("a closed input takes a message")
	}
}

// A peer that does not read blocks no writer, and closing ends it.
func TestDeaf(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"deaf", "stubborn"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			p := start(t, kind, Options{Most: 8 << 20, Ended: sync.OnceFunc(func() { close(ended) })})
			if line, err := bufio.NewReader(p.Out).ReadString('\n'); line != "ready\n" {
				t.Fatal(line, err)
			}
			for range 10 {
				if _, err := p.In.Write(make([]byte, 400<<10)); err != nil {
					t.Fatal(err)
				}
			}
			for p.In.Unread() < slow {
				time.Sleep(10 * time.Millisecond)
			}
			if err := p.Waits(io.ErrUnexpectedEOF); err.Error() != "unexpected EOF; it does not read its input" {
				t.Error(err)
			}
			p.Close()
			<-ended
			if want := map[string]string{"deaf": "was ended by SIGTERM", "stubborn": "was ended by SIGKILL"}[kind]; p.Exit() != want {
				t.Error(p.Exit())
			}
		})
	}
}

// A peer is stopped if it leaves too much unread, or for too long, and its exit reason names the
// limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options Options
		size    int
		want    string
	}{
		"much": {Options{Most: 1 << 20}, 400 << 10, "was stopped: it does not read its input: 1 MB wait"},
		"long": {Options{Most: 1 << 30, Unread: 100 * time.Millisecond}, 400 << 10, "was stopped: it did not read its input for 100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "stubborn", tt.options)
			if line, err := bufio.NewReader(p.Out).ReadString('\n'); line != "ready\n" {
				t.Fatal(line, err)
			}
			for range 5 {
				_, _ = p.In.Write(make([]byte, tt.size)) // the last writes may fail
			}
			if exit := ends(t, p); exit != tt.want {
				t.Errorf("%q, want %q", exit, tt.want)
			}
			if p.Fault() == nil {
				t.Error("there is no fault")
			}
		})
	}
	p := start(t, "echo", Options{Most: 1})
	if _, err := p.In.Write(make([]byte, 1<<20)); err != nil {
		t.Errorf("one message is always taken: %v", err)
	}
	if exit := ends(t, start(t, "broken", Options{Most: 1})); exit != "ended with exit code 3" {
		t.Error(exit)
	}
}
