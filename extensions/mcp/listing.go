package mcp

import "context"

// listed is a server in the result of hermes.extensions.
type listed struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Tools int    `json:"tools"`
	From  string `json:"from"`
	Error string `json:"error,omitempty"`
	Log   string `json:"log,omitempty"`

	Approved bool `json:"approved,omitempty"`
}

// entries lists the servers, including unapproved servers.
func (x *Instance) entries(context.Context) (map[string]any, error) {
	all := []listed{}
	for _, s := range x.All() {
		all = append(all, listed{s.Name, s.State, len(s.Tools), s.From, s.Error, s.Log, s.Approved})
	}
	return map[string]any{"mcp": all}, nil
}
