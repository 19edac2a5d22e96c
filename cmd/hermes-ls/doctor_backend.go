package main

import (
	"context"
	"fmt"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// backendFindings tries the backend on which commands run. If it is local, there are no
// findings.
func backendFindings(ctx context.Context, loaded *config.Loaded) []finding {
	t := loaded.Terminal
	if t.Backend == "" || t.Backend == "local" {
		return nil
	}
	place, err := tryBackend(ctx, loaded)
	if err != nil {
		return []finding{{"fail", "terminal", err.Error()}}
	}
	return []finding{{"ok", "terminal", fmt.Sprintf("commands run by %s on %s, in %s", place.Shell, t.Backend, place.Dir)}}
}

func tryBackend(ctx context.Context, loaded *config.Loaded) (backend.Place, error) {
	b, err := backend.New(server.BackendConfig(loaded, nil))
	if err != nil {
		return backend.Place{}, err
	}
	defer b.Close()
	return b.Open(ctx)
}
