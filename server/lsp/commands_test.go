package lsp

import (
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// TestCommandsAreInTheTable wants a function for each command of the command table, and no
// others.
func TestCommandsAreInTheTable(t *testing.T) {
	t.Parallel()
	svc := app.New(service.Options{Home: t.TempDir(), Environ: []string{}, Static: true})
	t.Cleanup(func() { _ = svc.Close() })
	w := wire.NewWriter(io.Discard, wire.HeaderFraming)
	t.Cleanup(func() { _ = w.Close() })
	s := newServer(t.Context(), Options{Service: svc}, w)
	have := append(slices.Collect(maps.Keys(s.commands)), protocol.CommandCancel)
	want := executable(svc)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the server runs\n%q, the table has\n%q", have, want)
	}
}
