package server_test

import (
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// The tests of this package run with all extensions, whose list imports the package.
func init() { server.TestFeatures = app.Features }
