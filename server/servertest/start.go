package servertest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/debug/tap"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/server/lsp"
)

// Options are the options of a test. All are optional.
type Options struct {
	Model  model.Model       // nil: the configured model; by default, there is none
	Files  map[string]string // path in the workspace → content
	Home   string            // empty: a fresh directory
	Config string            // text of config.yaml; empty: there is none
	Root   string            // empty: a fresh directory
	Init   any               // initializationOptions
	// Settings answer workspace/configuration; nil: the editor has none.
	Settings      any
	SettingsAfter time.Duration // the editor's delay for this answer
	// The properties of the editor.
	Client     string                                         // clientInfo.name; empty: servertest; "-": it says none
	Agent      bool                                           // it speaks the Agent Client Protocol only, and lends its files
	Plugin     bool                                           // it speaks the Agent Client Protocol on the same wire
	Diagnose   func(u string, wait int) []protocol.Diagnostic // and its plugin returns the diagnostics of files
	UTF16      bool                                           // it knows no other encoding
	Slow       time.Duration                                  // its delay for each answer
	NoEdits    bool                                           // it takes no edits
	NoShow     bool                                           // it shows no documents
	Behind     bool                                           // it shows no place in documents, because its text is out of date
	NoProgress bool                                           // it shows no progress
	Modal      bool                                           // it does nothing else while its user thinks about a question
	Swallows   bool                                           // it reports changes made during a question only with the next change
	// Observers see the frames of the connection, and Instruments the events of the service.
	Observers   []tap.Observer
	Instruments server.Instruments
	Unbegun     bool // initialize is left to the test
}

// fill makes the missing folders of a test.
func (o *Options) fill(t testing.TB) {
	t.Helper()
	if o.Home == "" {
		o.Home = filepath.Join(t.TempDir(), "home")
	}
	if o.Root == "" {
		o.Root = t.TempDir()
	}
	if o.Config != "" {
		err := os.MkdirAll(o.Home, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(o.Home, "config.yaml"), []byte(o.Config), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	real, err := filepath.EvalSymlinks(o.Root)
	if err != nil {
		t.Fatal(err)
	}
	o.Root = real
	for name, text := range o.Files {
		path := filepath.Join(o.Root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// running is a server with a client's end.
type running struct {
	conn *conn
	code chan int // the exit code, once
}

// start runs a server on pipes. It ends with the test at the latest.
func start(t testing.TB, o Options, lines bool) *running {
	t.Helper()
	log := slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	service := app.New(server.Options{
		Home: o.Home, Version: "test", Environ: []string{}, Log: log, Model: o.Model, Static: true, Instruments: o.Instruments,
	})
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	r := &running{conn: &conn{lines: lines, in: clientIn, out: clientOut}, code: make(chan int, 1)}
	framing := tap.Headers
	if lines {
		framing = tap.Lines
	}
	in, out := tap.Wrap(serverIn, serverOut, framing, o.Observers...)
	go func() {
		if lines {
			err := acp.Serve(context.Background(), in, out, acp.ServeOptions{Service: service, Log: log})
			if err != nil {
				t.Logf("acp.Serve: %v", err)
			}
			_ = serverOut.Close()
			r.code <- 0
			return
		}
		code, err := lsp.Serve(context.Background(), in, out, lsp.Options{Service: service, Version: "test", Log: log})
		if err != nil {
			t.Logf("lsp.Serve: %v", err)
		}
		r.code <- code
	}()
	return r
}

// endLimit returns the maximum time of a server's end: a second of virtual time. In real time it returns more,
// because a machine can be busy.
func endLimit() time.Duration {
	if time.Now().Year() < 2020 { // the clock of a synctest bubble starts in the year 2000
		return time.Second
	}
	return time.Minute
}

// end closes the server's input and waits for its end, which has to come within endLimit.
func (r *running) end(t testing.TB) int {
	t.Helper()
	_ = r.conn.out.Close()
	select {
	case code := <-r.code:
		<-r.conn.done
		if r.conn.bad != nil {
			t.Errorf("on the server's output: %v", r.conn.bad)
		}
		for _, wrong := range wrongProgress(r.conn.seen()) {
			t.Error(wrong)
		}
		r.code <- code
		return code
	case <-time.After(endLimit()):
		t.Errorf("the server did not end within %v of the end of its input", endLimit())
		return -1
	}
}

// testLog passes the server's log on to the test's.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("server: %s", p)
	return len(p), nil
}
