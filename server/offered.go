package server

import (
	"slices"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// diagnoser asks the host's editor about files that were edited, where the host has a
// way to and the files are the editor's.
func (x *Session) diagnoser() tools.Diagnoser {
	who, ok := x.host.(tools.Diagnoser)
	if !ok || x.away.away() {
		return nil
	}
	return who
}

// secrets are what no result may show: keys, and what commands are not given of
// the environment.
func secrets(conf *config.Loaded) map[string]string {
	return conf.Secrets(func(name string) bool {
		return proc.Secret(name) && !slices.Contains(conf.Terminal.EnvPassthrough, name)
	})
}
