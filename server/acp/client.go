package acp

import (
	"sync"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// Client is the client of a connection, as a [server.Host]. It shows events, asks the user,
// and provides its files and terminals. It is safe for concurrent use.
type Client struct {
	peer       Peer
	can        atomic.Pointer[acp.ClientCapabilities]
	name       atomic.Pointer[string]
	editor     atomic.Pointer[acp.EditorState]
	unanswered atomic.Int32 // requests for diagnostics, in a row
	known      sync.Map     // ids of the client's sessions
	saved      workspace.SavedTexts
}

func newClient(peer Peer) *Client {
	c := &Client{peer: peer}
	c.SetCapabilities(acp.ClientCapabilities{})
	c.SetName("")
	return c
}

// SetCapabilities sets the capabilities of the client. The method initialize calls it.
func (c *Client) SetCapabilities(can acp.ClientCapabilities) { c.can.Store(&can) }

// SetName sets the name of the client, for the model. The method initialize calls it.
func (c *Client) SetName(name string) { c.name.Store(&name) }
