package acp

import (
	"cmp"
	"encoding/json"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
)

// Opens reports whether a method opens a session for the client. After its response, the
// caller calls [Agent.Answered].
func Opens(name string) bool {
	switch name {
	case acp.MethodSessionNew, acp.MethodSessionLoad, acp.MethodSessionResume, acp.MethodSessionFork:
		return true
	}
	return false
}

// Answered is called when the response to a request has been queued. It sends updates for a session
// now known to the client, and starts deferrable work.
func (a *Agent) Answered(name string, params json.RawMessage, result any) {
	if !Opens(name) {
		return
	}
	var p struct {
		SessionID string `json:"sessionId"`
	}
	if made, ok := result.(*acp.NewSessionResponse); ok {
		p.SessionID = made.SessionID
	} else if decode(params, &p) != nil {
		return
	}
	if x := a.svc.Opened(p.SessionID); x != nil {
		a.Client.known.Store(p.SessionID, true)
		a.Client.update(p.SessionID, commands(x))
		x.Warm()
	}
}

// CommandsChanged sends the slash commands of a session again, if the client knows the session.
func (c *Client) CommandsChanged(x *server.Session) {
	if _, known := c.known.Load(x.ID()); known {
		c.update(x.ID(), commands(x))
	}
}

// maxCommands is how many commands an update has.
const maxCommands = 200

// commands returns the update with the slash commands: built-in commands, then the workspace's,
// then the others.
func commands(x *server.Session) *acp.CommandsUpdate {
	u := &acp.CommandsUpdate{SessionUpdate: acp.UpdateCommands}
	seen := map[string]bool{} // the first command of a name is used
	for _, c := range x.Commands() {
		if len(u.AvailableCommands) >= maxCommands {
			break
		}
		double := seen[c.Name]
		if seen[c.Name], seen[cmp.Or(c.Alias, c.Name)] = true, true; double || c.Hidden {
			continue
		}
		listed := acp.AvailableCommand{Name: c.Name, Description: c.Description}
		if c.Hint != "" {
			listed.Input = &acp.AvailableCommandInput{Hint: c.Hint}
		}
		u.AvailableCommands = append(u.AvailableCommands, listed)
	}
	return u
}
