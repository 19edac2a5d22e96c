package verify

import "github.com/hermes-ls/hermes-ls/config"

// Settings is the section verify of config.yaml.
type Settings struct {
	Enabled  bool     `json:"enabled" doc:"Ask the model to check its changes, and say if a turn with changes ends without a check."`
	Commands []string `json:"commands" doc:"Commands that check changes, such as make test. Empty: found in the files of the workspace."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "verify", Doc: "Checks of changes.", Defaults: Settings{Enabled: true, Commands: []string{}}}
}
