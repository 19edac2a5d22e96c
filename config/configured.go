package config

import (
	"maps"
	"slices"

	"github.com/hermes-ls/hermes-ls/config/catalog"
)

// ProviderNames returns the valid names of providers.
func (l *Loaded) ProviderNames() []string { return knownProviders(l.Providers) }

// Configured returns the usable providers: the model's, the fallbacks', the entries under
// providers, and the known providers with a key.
func (l *Loaded) Configured() []string {
	var names []string
	if all, err := l.Endpoints(); err == nil {
		for _, e := range all {
			names = append(names, e.Provider)
		}
	} else if l.Model.Provider != "auto" {
		names = append(names, l.Model.Provider)
	}
	names = append(names, slices.Sorted(maps.Keys(l.Providers))...)
	for _, p := range catalog.Providers() {
		if _, err := l.ProviderEndpoint(p.Name, ""); err == nil && !p.NoKey {
			names = append(names, p.Name)
		}
	}
	return unique(names)
}

// ProviderEndpoint returns the endpoint of a provider with a model. An empty id means any model. If
// the provider is unusable, the error contains the reason.
func (l *Loaded) ProviderEndpoint(provider, id string) (Endpoint, error) {
	m := l.Model
	if first, err := l.endpoint(); err == nil && first.Provider == provider {
		if id != "" && id != first.Model {
			first.Model = id
			l.addFacts(&first, Model{MaxTokens: l.Model.MaxTokens})
		}
		return first, nil
	}
	if m.Provider != provider {
		m.BaseURL, m.APIKey = "", nil
	}
	m.Provider, m.Default, m.ContextWindow, m.SupportsVision = provider, id, 0, nil
	return l.resolve("model", m)
}
