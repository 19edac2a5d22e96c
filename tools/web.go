package tools

import (
	"github.com/hermes-ls/hermes-ls/internal/fetch"
	"github.com/hermes-ls/hermes-ls/internal/websearch"
)

// WebConfig says what the web tools reach.
type WebConfig struct {
	Search       *websearch.Engine // nil: web_search is not there
	AllowPrivate bool              // web_extract may reach loopback and private addresses
	Version      string            // of the program, for servers to see
}

// Web returns the web tools of a session. They share what they have read.
func Web(c WebConfig) []Tool {
	x := &extractor{client: fetch.New(fetch.Options{AllowPrivate: c.AllowPrivate, Version: c.Version})}
	list := []Tool{x.tool()}
	if c.Search != nil {
		list = append(list, searchWebTool(*c.Search))
	}
	return list
}

// refuseSecret keeps what a tool would send out from holding a secret.
func refuseSecret(env *Env, text string) (refusal string, found bool) {
	standIn, found := env.Secrets.In(text)
	if !found {
		return "", false
	}
	return "it holds a secret of the user's (" + standIn + "), which is not sent anywhere", true
}
