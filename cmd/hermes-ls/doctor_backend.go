package main

import (
	"context"
	"fmt"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// backendFindings tries the backend on which commands run. If it is local, there are no
// findings.
func backendFindings(ctx context.Context, loaded *config.Loaded) []cli.Finding {
	t := loaded.Terminal
	if t.Backend == "" || t.Backend == "local" {
		return nil
	}
	place, err := tryBackend(ctx, loaded)
	if err != nil {
		return []cli.Finding{{State: cli.Fail, What: "terminal", Text: err.Error()}}
	}
	return []cli.Finding{{State: cli.OK, What: "terminal", Text: fmt.Sprintf("commands run by %s on %s, in %s", place.Shell, t.Backend, place.Dir)}}
}

func tryBackend(ctx context.Context, loaded *config.Loaded) (backend.Place, error) {
	b, err := backend.New(server.BackendConfig(loaded, nil))
	if err != nil {
		return backend.Place{}, err
	}
	defer b.Close()
	return b.Open(ctx)
}
