package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// ending is an extension with a slow function at the end of a session.
type ending struct {
	takes time.Duration
	ended bool
}

func (*ending) Name() string { return "ending" }

func (e *ending) Open(context.Context, *extension.Session) (extension.Instance, error) {
	return e, nil
}

func (*ending) Close(context.Context) error { return nil }

func (e *ending) Hooks() extension.Hooks {
	return extension.Hooks{Events: []extension.Handlers{{SessionEnd: func(ctx context.Context, _ extension.SessionEvent) error {
		select {
		case <-time.After(e.takes):
			e.ended = true
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}}}
}

// TestEndTakesAWhile ends a server with an extension that needs longer than the rest at the end of
// a session. The function ends, and the rest is closed without an error.
func TestEndTakesAWhile(t *testing.T) {
	t.Parallel()
	ext := &ending{takes: 500 * time.Millisecond}
	s := server.New(server.Options{
		Home: t.TempDir(), Environ: []string{}, Model: fakemodel.Script(says("Hello")), Static: true,
		Features: func(s *server.Service) []server.Feature {
			return append(app.Features(s), server.Feature{Extension: ext})
		},
	})
	x, err := s.NewSession(t.Context(), server.Place{Cwd: t.TempDir()}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "hi"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || !ext.ended {
		t.Errorf("%v; the function has ended: %t", err, ext.ended)
	}
}
