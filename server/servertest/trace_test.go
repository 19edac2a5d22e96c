package servertest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hermes-ls/hermes-ls/internal/debug/tap"
	"github.com/hermes-ls/hermes-ls/internal/debug/trace"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/recording"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// TestTraces records the conversation of each script, and plays the recording against a
// fresh server.
func TestTraces(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	paths, err := filepath.Glob("../testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if name == "lsp_bad_input" {
				t.Skip("a frame of more than 64 MB is not recorded")
			}
			if strings.Contains(string(txtar.Format(archive)), "\nrestart\n") {
				t.Skip("it starts a second server: a trace is one connection")
			}
			if strings.Contains(string(txtar.Format(archive)), "\nanswer workspace/applyEdit") {
				t.Skip("the editor that plays a trace makes each edit")
			}
			if strings.Contains(string(txtar.Format(archive)), "\nsaves \"") {
				t.Skip("the editor that plays a trace saves nothing")
			}
			file := filepath.Join(t.TempDir(), "trace.txtar")
			record(t, path, file)
			recorded, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.Files {
				switch {
				case strings.HasPrefix(f.Name, "files/"):
					recorded.Files = append(recorded.Files, f)
				case f.Name == "config":
					recorded.Files = append(recorded.Files, txtar.File{Name: "home/config.yaml", Data: f.Data})
				}
			}
			t.Run("played", func(t *testing.T) {
				servertest.PlayTrace(t, recorded, nil)
				if t.Failed() {
					data, _ := os.ReadFile(file)
					t.Logf("%.100000s", data)
				}
			})
		})
	}
}

// record plays a script and records the connection.
func record(t *testing.T, script, file string) {
	t.Helper()
	protocol := "lsp"
	if strings.HasPrefix(filepath.Base(script), "acp_") {
		protocol = "acp"
	}
	var r *trace.Recorder
	servertest.RunScript(t, script, func(o *servertest.Options) (done func()) {
		var err error
		r, err = trace.Open(file, trace.Options{
			Recording: trace.Recording{Protocol: protocol, Version: "test", Cwd: o.Root, Home: o.Home},
			Redact:    redact.New(nil).JSON,
			Failed:    func(err error) { t.Errorf("the trace failed: %v", err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Observers = []tap.Observer{r.Frame}
		models := recording.New(r.Model)
		o.Instruments = server.Instruments{Model: models.Model, Event: models.Event}
		return func() { _ = r.Close() }
	})
}
