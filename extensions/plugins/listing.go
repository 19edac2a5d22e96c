package plugins

import (
	"context"

	"github.com/hermes-ls/hermes-ls/tools"
)

// listed is a plugin in the result of hermes.extensions.
type listed struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	State       State    `json:"state"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Hooks       []string `json:"hooks"`
	Error       string   `json:"error,omitempty"`
}

// entries lists the plugins in plugins.enabled.
func (x *instance) entries(context.Context) (map[string]any, error) {
	all := []listed{}
	for _, p := range x.plugins {
		all = append(all, listed{p.Name, p.Version, p.State, p.Description, tools.OrEmpty(p.offer.toolNames()), tools.OrEmpty(p.HookNames()), ""})
	}
	for _, l := range x.off {
		all = append(all, listed{l.Name, l.Version, l.State, l.Description, []string{}, []string{}, l.Problem()})
	}
	return map[string]any{"plugins": all}, nil
}
