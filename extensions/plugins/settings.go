package plugins

import (
	"encoding/json"
	"slices"

	"github.com/hermes-ls/hermes-ls/config"
)

// Settings is the section plugins of config.yaml. It is shared with Hermes Agent.
type Settings struct {
	Enabled  []string       `json:"enabled" doc:"Names of the plugins that are on. hermes-ls plugin enable adds one."`
	Disabled []string       `json:"disabled" doc:"Names of plugins that are off, also if they are in enabled."`
	Entries  map[string]any `json:"entries" doc:"By the names of plugins: settings, which the plugin gets, and permissions, which it has besides those of its manifest."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "plugins", Doc: "Plugins. See docs/plugins.md.", Defaults: Settings{Enabled: []string{}, Disabled: []string{}, Entries: map[string]any{}}}
}

// Enables reports whether the settings turn a plugin on.
func (s Settings) Enables(name string) bool {
	return slices.Contains(s.Enabled, name) && !slices.Contains(s.Disabled, name)
}

// entry is the part of entries.NAME used here. Hermes Agent uses further keys.
type entry struct {
	Settings    any         `json:"settings"`
	Permissions Permissions `json:"permissions"`
}

// entry returns the entry of a plugin. In any other form, it is empty.
func (s Settings) entry(name string) (e entry) {
	if data, err := json.Marshal(s.Entries[name]); err == nil {
		_ = json.Unmarshal(data, &e)
	}
	return e
}

// Of returns the settings passed to a plugin.
func (s Settings) Of(name string) any { return s.entry(name).Settings }

// Widen adds the user's permissions to a plugin's manifest. Manifests of Hermes Agent's plugins and
// Agent Plugins contain none.
func (s Settings) Widen(p Plugin) Plugin {
	more := s.entry(p.Name).Permissions
	if order := []Access{"", None, Read, Write}; slices.Index(order, more.Files) > slices.Index(order, p.Permissions.Files) {
		p.Permissions.Files = more.Files
	}
	p.Permissions.Network = p.Permissions.Network || more.Network
	p.Permissions.Env = union(p.Permissions.Env, more.Env)
	p.Permissions.Tools = union(p.Permissions.Tools, more.Tools)
	p.Permissions.Override = union(p.Permissions.Override, more.Override)
	return p
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}
