package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// TestAClientThatStopsReading holds up neither a turn nor the end.
func TestAClientThatStopsReading(t *testing.T) {
	t.Parallel()
	home, ws := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m := fakemodel.New()
		svc := app.New(server.Options{Home: home, Environ: []string{}, Model: m, Static: true})
		in, toAgent := io.Pipe()
		fromAgent, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- acp.Serve(context.Background(), in, out, acp.ServeOptions{Service: svc}) }()

		lines := bufio.NewScanner(fromAgent)
		ask := func(format string, a ...any) {
			if _, err := fmt.Fprintf(toAgent, format+"\n", a...); err != nil {
				t.Fatal(err)
			}
		}
		var made struct{ Result struct{ SessionID string } }
		ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
		lines.Scan()
		ask(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, ws)
		lines.Scan()
		if err := json.Unmarshal(lines.Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		// From here on nothing is read.
		ask(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, made.Result.SessionID)
		x := m.Next()
		begun := time.Now()
		for range 2000 {
			x.Text(strings.Repeat("word ", 200))
		}
		x.End()
		synctest.Wait()
		if d := time.Since(begun); d > 0 {
			t.Errorf("the turn waited %v for the client", d)
		}
		begun = time.Now()
		_ = toAgent.Close()
		if err := <-ended; err == nil {
			t.Error("nobody is told that the client did not read")
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("the end took %v", d)
		}
	})
}
