package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// TestCancelOvertakes wants session/cancel to wait for no other request: neither when
// the turn runs nor when its prompt still waits behind a slow session/load.
func TestCancelOvertakes(t *testing.T) {
	t.Parallel()
	for _, queued := range []bool{false, true} {
		t.Run(fmt.Sprintf("queued %v", queued), func(t *testing.T) {
			t.Parallel()
			home, ws := t.TempDir(), t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				m := fakemodel.New()
				svc := app.New(server.Options{Home: home, Environ: []string{}, Model: m, Static: true})
				in, toAgent := io.Pipe()
				fromAgent, out := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				c := newConn(ctx, in, out, ServeOptions{Service: svc, Log: slog.New(slog.DiscardHandler)})
				loaded := make(chan struct{})
				c.agent.methods[acp.MethodSessionLoad] = func(context.Context, json.RawMessage, func()) (any, error) {
					<-loaded
					return struct{}{}, nil
				}
				ended := make(chan error, 1)
				go func() { ended <- c.run(ctx, cancel) }()
				answers := make(chan string, 100)
				go func() {
					defer close(answers)
					for lines := bufio.NewScanner(fromAgent); lines.Scan(); {
						if strings.Contains(lines.Text(), `"id"`) {
							answers <- lines.Text()
						}
					}
				}()
				ask := func(format string, a ...any) {
					if _, err := fmt.Fprintf(toAgent, `{"jsonrpc":"2.0",`+format+"}\n", a...); err != nil {
						t.Error(err)
					}
				}
				var made struct{ Result struct{ SessionID string } }
				ask(`"id":1,"method":"initialize","params":{"protocolVersion":1}`)
				<-answers
				ask(`"id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}`, ws)
				if err := json.Unmarshal([]byte(<-answers), &made); err != nil {
					t.Fatal(err)
				}
				load := `"id":3,"method":"session/load","params":{"sessionId":"another","cwd":"/"}`
				prompt := func(id int) {
					ask(`"id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}`, id, made.Result.SessionID)
				}
				if queued {
					ask(load)
					prompt(4)
				} else {
					prompt(4)
					m.Next().Text("I began")
					ask(load)
				}
				ask(`"method":"session/cancel","params":{"sessionId":%q}`, made.Result.SessionID)
				prompt(5)
				if queued {
					synctest.Wait()
					close(loaded)
				}
				got := ""
				for !strings.Contains(got, `"id":4`) {
					got = <-answers // a wait without end is a deadlock, which synctest reports
				}
				if !strings.Contains(got, `"stopReason":"cancelled"`) {
					t.Errorf("the prompt was answered with %s", got)
				}
				if !queued {
					close(loaded)
				}
				x := m.Next() // of the later prompt
				x.Text("fine")
				x.End()
				for !strings.Contains(got, `"id":5`) {
					got = <-answers
				}
				if !strings.Contains(got, `"stopReason":"end_turn"`) {
					t.Errorf("the prompt after the cancel was answered with %s", got)
				}
				_ = toAgent.Close()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
