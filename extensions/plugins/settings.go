package plugins

import (
	"slices"

	"github.com/hermes-ls/hermes-ls/config"
)

// Settings is the section plugins of config.yaml. It is shared with Hermes Agent.
type Settings struct {
	Enabled  []string       `json:"enabled" doc:"Names of the plugins that are on. hermes-ls plugin enable adds one."`
	Disabled []string       `json:"disabled" doc:"Names of plugins that are off, also if they are in enabled."`
	Entries  map[string]any `json:"entries" doc:"Settings of plugins, by their names. A plugin gets its own ones."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "plugins", Doc: "Plugins. See docs/plugins.md.", Defaults: Settings{Enabled: []string{}, Disabled: []string{}, Entries: map[string]any{}}}
}

// Enables reports whether the settings turn a plugin on.
func (s Settings) Enables(name string) bool {
	return slices.Contains(s.Enabled, name) && !slices.Contains(s.Disabled, name)
}
