// Package models makes the models of sessions from the configuration: their endpoints, which
// sessions share, and the choice of each session.
package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/embedded"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

// Pool holds a model, with its connections and its key pool, for all sessions with the same
// configuration.
type Pool struct {
	Log *slog.Logger
	// Store returns the store, which records models that reject pictures. If the store is not open,
	// it returns nil.
	Store func() *store.Store

	Path userpath.Finder // the PATH of key commands; nil: the process's

	keys client.Keys
	mu   sync.Mutex
	made map[string]model.Model
}

// Get returns a model that sends its requests to the first endpoint and, if it fails, to the
// others.
func (p *Pool) Get(endpoints []config.Endpoint) model.Model {
	if endpoints[0].Provider == "embedded" {
		return embedded.Model{Name: endpoints[0].Model}
	}
	key, err := json.Marshal(endpoints)
	if err != nil { // a value of extra_body unknown to JSON
		key = fmt.Appendf(nil, "%+v", endpoints)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if made := p.made[string(key)]; made != nil {
		return made
	}
	c := client.Config{Log: p.Log, Rejections: p.rejections(), Keys: &p.keys, Stall: endpoints[0].Stall}
	for _, e := range endpoints {
		c.Endpoints = append(c.Endpoints, Endpoint(e, p.Path, p.Log))
	}
	if p.made == nil {
		p.made = map[string]model.Model{}
	}
	made := client.New(c)
	p.made[string(key)] = made
	return made
}

// rejections returns functions for loading and saving rejections in the store.
func (p *Pool) rejections() client.Rejections {
	return client.Rejections{
		Known: func(ctx context.Context, endpoint, id string) bool {
			st := p.Store()
			if st == nil { // there is no prompt yet
				return false
			}
			rejects, err := st.RejectsPictures(ctx, endpoint, id)
			if err != nil {
				p.Log.Warn("cannot tell whether pictures were rejected", "error", err)
			}
			return rejects
		},
		Remember: func(ctx context.Context, endpoint, id string) error {
			st := p.Store()
			if st == nil {
				return errors.New("the store is not open")
			}
			return st.RejectPictures(ctx, endpoint, id)
		},
	}
}
