// Package app is the list of the features that the program is made of. To add a feature, add one
// line to [Features]; nothing else names it.
package app

import (
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server"
)

// Config returns the schema of config.yaml with the sections of all features.
func Config() *config.Schema { return server.SchemaOf(Features) }
