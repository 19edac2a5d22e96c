// Package web provides the tools web_search and web_extract.
//
// [Tools] creates the tools of one session. They are safe for concurrent use.
package web

import (
	"github.com/hermes-ls/hermes-ls/internal/fetch"
	"github.com/hermes-ls/hermes-ls/internal/websearch"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Config configures the web tools of a session.
type Config struct {
	Search       *websearch.Engine // nil: web_search is not there
	AllowPrivate bool              // web_extract may reach loopback and private addresses
	Version      string            // of the program, for servers to see
	Secrets      *tools.Secrets    // never sent or saved; nil: none
}

// Tools returns the web tools of a session. They share a cache of pages.
func Tools(c Config) []tools.Tool {
	x := &extractor{secrets: c.Secrets, client: fetch.New(fetch.Options{AllowPrivate: c.AllowPrivate, Version: c.Version})}
	list := []tools.Tool{x.tool()}
	if c.Search != nil {
		list = append(list, searchWebTool(*c.Search, c.Secrets))
	}
	return list
}

// refuseSecret reports whether text to send contains a secret, and why it is not sent.
func refuseSecret(secrets *tools.Secrets, text string) (refusal string, found bool) {
	standIn, found := secrets.In(text)
	if !found {
		return "", false
	}
	return "it holds a secret of the user's (" + standIn + "), which is not sent anywhere", true
}
