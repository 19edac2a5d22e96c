package mcp

import (
	"context"
	"sync"
	"time"
)

// listsChanged has the signals of a server that announces changes.
type listsChanged struct{ tools, prompts chan struct{} }

func newListsChanged() listsChanged {
	return listsChanged{make(chan struct{}, 1), make(chan struct{}, 1)}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is already pending
	}
}

// debounce is the shortest time between two requests for the tools or the prompts of a connection: a server can
// announce changes in a loop.
const debounce = 200 * time.Millisecond

// follow requests the prompts of a connection, and the tools and prompts again when they change, until the returned
// function is called.
func (s *server) follow(conn *connection) (end func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	var work sync.WaitGroup
	work.Go(func() { each(ctx, s.listsChanged.tools, func(ctx context.Context) { s.refresh(ctx, conn) }) })
	if !s.NoPrompts {
		notify(s.listsChanged.prompts)
		work.Go(func() {
			each(ctx, s.listsChanged.prompts, func(ctx context.Context) {
				if s.prompts.Fetch(ctx, conn.session) && s.owner.cfg.CommandsChanged != nil {
					s.owner.cfg.CommandsChanged()
				}
			})
		})
	}
	return func() {
		cancel()
		work.Wait()
	}
}

// each calls f after each signal, until ctx ends. f has the time of defaultConnect.
func each(ctx context.Context, signal <-chan struct{}, f func(context.Context)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signal:
		}
		limited, stop := context.WithTimeout(ctx, defaultConnect)
		f(limited)
		stop()
		select {
		case <-ctx.Done():
			return
		case <-time.After(debounce):
		}
	}
}
